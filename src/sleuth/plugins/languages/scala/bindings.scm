(parameter name: (identifier) @name type: (_) @type) @binding.variable
(class_parameter name: (identifier) @name type: (_) @type) @binding.variable
(binding name: (identifier) @name type: (_)? @type) @binding.variable
(lambda_expression parameters: (identifier) @name) @binding.variable
(val_definition pattern: (identifier) @name type: (_)? @type value: (_) @value) @binding.variable
(var_definition pattern: (identifier) @name type: (_)? @type value: (_) @value) @binding.variable
(typed_pattern pattern: (identifier) @name type: (_) @type) @binding.variable
(enumerator . (identifier) @name . (_) @value) @binding.element
; What a pattern binds is in lower case: other names are those of constants.
([
  (tuple_pattern (identifier) @name)
  (case_clause pattern: (identifier) @name)
  (case_class_pattern pattern: (identifier) @name)
  (capture_pattern name: (identifier) @name)
] @binding.variable
  (#match? @name "^[a-z_]"))
(function_definition name: (identifier) @name return_type: (_) @type) @binding.variable
(function_declaration name: (identifier) @name return_type: (_) @type) @binding.variable
(type_parameters name: (identifier) @name) @binding.generic
