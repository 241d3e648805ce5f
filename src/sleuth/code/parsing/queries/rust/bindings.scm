(self_parameter (self) @name) @binding.variable
(parameter pattern: (identifier) @name type: (_) @type) @binding.variable
(closure_parameters (identifier) @name) @binding.variable
(let_declaration pattern: (identifier) @name type: (_)? @type value: (_)? @value) @binding.variable
(for_expression pattern: (identifier) @name value: (_) @value) @binding.element
(assignment_expression left: (identifier) @name right: (_) @value) @binding.assigned
; What a pattern binds is in lower case: other names are those of constants and variants.
([
  (tuple_pattern (identifier) @name)
  (tuple_struct_pattern type: (_) (identifier) @name)
  (slice_pattern (identifier) @name)
  (reference_pattern (identifier) @name)
  (ref_pattern (identifier) @name)
  (mut_pattern (identifier) @name)
  (captured_pattern . (identifier) @name)
  (or_pattern (identifier) @name)
  (match_pattern . (identifier) @name)
  (field_pattern pattern: (identifier) @name)
  (field_pattern name: (shorthand_field_identifier) @name)
] @binding.variable
  (#match? @name "^[a-z_]"))
; The one value inside of `Some` or `Ok`.
(let_condition pattern: (tuple_struct_pattern type: (_) . (identifier) @name .) value: (_) @value) @binding.variable
(let_declaration pattern: (tuple_struct_pattern type: (_) . (identifier) @name .) value: (_) @value) @binding.variable
(field_declaration name: (field_identifier) @name type: (_) @type) @binding.member
(static_item name: (_) @name type: (_) @type) @binding.variable
[
  (function_item name: (_) @name return_type: (_) @type)
  (function_signature_item name: (_) @name return_type: (_) @type)
] @binding.variable
(type_item name: (_) @name type: (_) @type) @binding.variable
(const_item name: (_) @name type: (_) @type) @binding.variable
(type_parameter name: (type_identifier) @name bounds: (trait_bounds)? @type) @binding.generic
(const_parameter name: (identifier) @name) @binding.generic
(where_predicate left: (type_identifier) @name bounds: (trait_bounds) @type) @binding.generic
