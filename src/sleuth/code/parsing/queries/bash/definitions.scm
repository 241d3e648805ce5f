(function_definition name: (_) @name body: (_) @body) @definition.function
(program (variable_assignment name: (_) @name) @definition.constant)
(program (declaration_command (variable_assignment name: (_) @name)) @definition.constant)
