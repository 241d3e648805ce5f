(function_declaration name: (identifier) @name body: (_)? @body) @definition.function
(function_declaration
  name: (dot_index_expression table: (_) @scope field: (_) @name) body: (_)? @body) @definition.function
(function_declaration
  name: (method_index_expression table: (_) @scope method: (_) @name) body: (_)? @body) @definition.method
(assignment_statement
  (variable_list . (identifier) @name)
  (expression_list . (function_definition body: (_)? @body))) @definition.function
(assignment_statement
  (variable_list . (dot_index_expression table: (_) @scope field: (_) @name))
  (expression_list . (function_definition body: (_)? @body))) @definition.function
(chunk (variable_declaration (assignment_statement (variable_list (identifier) @name)) @definition.constant))
(chunk (assignment_statement (variable_list (identifier) @name)) @definition.constant)

(variable_declaration (assignment_statement) @wrapped) @wrapper
