(call_expression function: (identifier) @name) @reference.call
(call_expression function: (selector_expression operand: (_) @qualifier field: (_) @name)) @reference.call
(composite_literal type: [
  (type_identifier) @name
  (qualified_type package: (_) @qualifier name: (_) @name)
  (generic_type type: (type_identifier) @name)
  (generic_type type: (qualified_type package: (_) @qualifier name: (_) @name))
]) @reference.instantiation
; A field without a name is embedded: its type's methods are those of the struct.
(field_declaration !name type: [
  (type_identifier) @name
  (qualified_type package: (_) @qualifier name: (_) @name)
  (pointer_type (type_identifier) @name)
  (pointer_type (qualified_type package: (_) @qualifier name: (_) @name))
]) @reference.inheritance
(selector_expression operand: (_) @qualifier field: (_) @name) @reference.value
; A key in `S{Name: 1}` is a field of `S`.
(composite_literal type: (_) @qualifier
  body: (literal_value (keyed_element key: (literal_element (identifier) @name)))) @reference.value
(_expression/identifier) @name @reference.mention

; The types of the language itself are left out: every function mentions some. (`#not-any-of?` with several texts holds
; for each of them in py-tree-sitter 0.26.)
((type_identifier) @name
  (#not-match? @name "^(any|bool|byte|error|float(32|64)|u?int(8|16|32|64)?|rune|string|uintptr)$")) @reference.type
(qualified_type package: (_) @qualifier name: (_) @name) @reference.type
