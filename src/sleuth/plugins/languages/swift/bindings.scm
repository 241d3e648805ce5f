(parameter name: (simple_identifier) @name [(user_type) (optional_type)] @type) @binding.variable
(parameter name: (simple_identifier) @name) @binding.variable
(lambda_parameter name: (simple_identifier) @name) @binding.variable
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name)
  (type_annotation (user_type) @type)) @binding.variable
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) value: (_) @value) @binding.variable
[
  (pattern bound_identifier: (simple_identifier) @name)
  (pattern (pattern (simple_identifier) @name))
  (if_statement bound_identifier: (simple_identifier) @name)
  (guard_statement bound_identifier: (simple_identifier) @name)
] @binding.variable
(type_parameter (type_identifier) @name) @binding.generic
