[
  (method_parameters (identifier) @name)
  (lambda_parameters (identifier) @name)
  (block_parameters (identifier) @name)
  (optional_parameter name: (identifier) @name)
  (splat_parameter name: (identifier) @name)
  (keyword_parameter name: (identifier) @name)
  (hash_splat_parameter name: (identifier) @name)
  (block_parameter name: (identifier) @name)
  (destructured_parameter (identifier) @name)
  (left_assignment_list (identifier) @name)
  (destructured_left_assignment (identifier) @name)
  (rest_assignment (identifier) @name)
  (operator_assignment left: (identifier) @name)
  (for pattern: (identifier) @name)
  (exception_variable (identifier) @name)
  (array_pattern (identifier) @name)
  (as_pattern name: (identifier) @name)
  (keyword_pattern value: (identifier) @name)
] @binding.variable
(assignment left: (identifier) @name right: (_) @value) @binding.variable
(assignment left: (instance_variable) @name right: (_) @value) @binding.member
