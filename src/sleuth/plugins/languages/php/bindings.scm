(simple_parameter type: (_)? @type name: (variable_name) @name) @binding.variable
(variadic_parameter name: (variable_name) @name) @binding.variable
(property_promotion_parameter type: (_)? @type name: (variable_name) @name) @binding.variable
(property_promotion_parameter type: (_)? @type name: (variable_name (name) @name)) @binding.member
(property_declaration type: (_)? @type (property_element name: (variable_name (name) @name))) @binding.member
(assignment_expression left: (variable_name) @name right: (_) @value) @binding.variable
(assignment_expression
  left: (member_access_expression object: (variable_name) @_this name: (name) @name) right: (_) @value
  (#eq? @_this "$this")) @binding.member
(catch_clause type: (_) @type name: (variable_name) @name) @binding.variable
(foreach_statement (_) @value . (variable_name) @name body: (_)) @binding.element
(foreach_statement (_) @value . (pair (_) (variable_name) @name) body: (_)) @binding.element
[
  (foreach_statement (pair . (variable_name) @name))
  (foreach_statement (by_ref (variable_name) @name))
  (list_literal (variable_name) @name)
  (augmented_assignment_expression left: (variable_name) @name)
  (static_variable_declaration name: (variable_name) @name)
  (global_declaration (variable_name) @name)
] @binding.variable
[
  (function_definition name: (name) @name return_type: (_) @type)
  (method_declaration name: (name) @name return_type: (_) @type)
] @binding.variable
