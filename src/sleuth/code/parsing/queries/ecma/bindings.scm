(variable_declarator name: (identifier) @name value: (_)? @value) @binding.variable
[
  (object_pattern (shorthand_property_identifier_pattern) @name)
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
  (pair_pattern value: (identifier) @name)
  (array_pattern (identifier) @name)
  (rest_pattern (identifier) @name)
  (assignment_pattern left: (identifier) @name)
  (catch_clause parameter: (identifier) @name)
  (arrow_function parameter: (identifier) @name)
  (function_expression name: (identifier) @name)
] @binding.variable
(for_in_statement left: (identifier) @name operator: "of" right: (_) @value) @binding.element
(for_in_statement left: (identifier) @name operator: "in") @binding.variable
(assignment_expression left: (identifier) @name right: (_) @value) @binding.assigned
(assignment_expression
  left: (member_expression object: (this) property: [(property_identifier) (private_property_identifier)] @name)
  right: (_) @value) @binding.member
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name) value: (_) @value) @binding.part
