(parameter type: (_)? @type name: (identifier) @name) @binding.variable
(parameter_list name: (identifier) @name) @binding.variable
(implicit_parameter) @name @binding.variable
(variable_declaration type: (_) @type (variable_declarator name: (identifier) @name)) @binding.variable
(variable_declarator name: (identifier) @name (_) @value .) @binding.variable
(property_declaration type: (_) @type name: (identifier) @name) @binding.variable
(delegate_declaration type: (_) @type name: (identifier) @name) @binding.variable
(method_declaration returns: (_) @type name: (identifier) @name) @binding.variable
(local_function_statement type: (_) @type name: (identifier) @name) @binding.variable
(foreach_statement type: (_) @type left: (identifier) @name right: (_) @value) @binding.element
(tuple_pattern name: (identifier) @name) @binding.variable
(catch_declaration type: (_) @type name: (identifier) @name) @binding.variable
(declaration_pattern type: (_) @type name: (identifier) @name) @binding.variable
(declaration_expression type: (_) @type name: (identifier) @name) @binding.variable
(from_clause name: (identifier) @name) @binding.variable
(assignment_expression left: (identifier) @name right: (_) @value) @binding.assigned
(type_parameter name: (identifier) @name) @binding.generic
