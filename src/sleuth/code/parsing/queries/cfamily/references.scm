(type_identifier) @name @reference.type
(expression/identifier) @name @reference.mention
(assignment_expression left: (identifier) @name) @reference.mention
(field_expression argument: (_) @qualifier field: (field_identifier) @name) @reference.value
(field_designator (field_identifier) @name) @reference.value
(offsetof_expression
  type: (type_descriptor type: [(struct_specifier name: (_) @qualifier) (type_identifier) @qualifier])
  member: (_) @name) @reference.value
; A prototype, or a macro with arguments before a body.
(function_declarator declarator: (identifier) @name) @reference.mention
(concatenated_string (identifier) @name) @reference.mention
; Conditions of the preprocessor are no expressions of the grammar.
[
  (preproc_if condition: (identifier) @name)
  (preproc_if condition: (_ (identifier) @name))
  (preproc_if condition: (_ (_ (identifier) @name)))
  (preproc_if condition: (_ (_ (_ (identifier) @name))))
  (preproc_elif condition: (identifier) @name)
  (preproc_elif condition: (_ (identifier) @name))
  (preproc_elif condition: (_ (_ (identifier) @name)))
  (preproc_elif condition: (_ (_ (_ (identifier) @name))))
  (preproc_ifdef name: (identifier) @name)
  (preproc_defined (identifier) @name)
] @reference.mention
[(preproc_def value: (_) @name) (preproc_function_def value: (_) @name)] @reference.quoted
