(parameter (identifier) @name . (_) @type) @binding.variable
(class_parameter (identifier) @name . (_) @type) @binding.variable
(variable_declaration . (identifier) @name (_)? @type) @binding.variable
(property_declaration (variable_declaration . (identifier) @name) [
  (call_expression) (navigation_expression) (identifier) (string_literal) (as_expression)
] @value .) @binding.variable
(for_statement (variable_declaration . (identifier) @name) . (_) @value) @binding.element
(when_subject (variable_declaration . (identifier) @name) (_) @value .) @binding.variable
(catch_block . (identifier) @name . (_) @type) @binding.variable
(assignment left: (identifier) @name right: (_) @value) @binding.assigned
(function_declaration name: (identifier) @name (function_value_parameters)
  . [(user_type) (nullable_type)] @type) @binding.variable
(function_declaration name: (identifier) @name (function_body [
  (call_expression) (navigation_expression) (as_expression)
] @value .)) @binding.variable
(type_parameter (identifier) @name) @binding.generic
