(impl_item trait: [
  (type_identifier) @name
  (scoped_type_identifier path: (_) @qualifier name: (_) @name)
  (generic_type type: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier path: (_) @qualifier name: (_) @name))
]) @reference.inheritance
(trait_item bounds: (trait_bounds [
  (type_identifier) @name
  (scoped_type_identifier path: (_) @qualifier name: (_) @name)
  (generic_type type: (type_identifier) @name)
])) @reference.inheritance
(trait_bounds [
  (type_identifier) @name
  (scoped_type_identifier path: (_) @qualifier name: (_) @name)
  (generic_type type: (type_identifier) @name)
]) @reference.type

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (scoped_identifier path: (_)? @qualifier name: (_) @name)) @reference.call
(call_expression function: (field_expression value: (_) @qualifier field: (_) @name)) @reference.call
(call_expression function: (generic_function function: [
  (identifier) @name
  (scoped_identifier path: (_)? @qualifier name: (_) @name)
  (field_expression value: (_) @qualifier field: (_) @name)
])) @reference.call
(macro_invocation macro: [
  (identifier) @name
  (scoped_identifier path: (_)? @qualifier name: (_) @name)
]) @reference.call
(struct_expression name: [
  (type_identifier) @name
  (scoped_type_identifier path: (_) @qualifier name: (_) @name)
  (generic_type_with_turbofish type: (_) @name)
]) @reference.instantiation

(type_identifier) @name @reference.mention
(scoped_type_identifier path: (_) @qualifier name: (type_identifier) @name) @reference.type
(scoped_identifier path: (_)? @qualifier name: (_) @name) @reference.value
(field_expression value: (_) @qualifier field: (field_identifier) @name) @reference.value
; A field in `S { name: 1 }` is one of `S`, and so is one in a pattern.
(struct_expression name: (_) @qualifier body: (field_initializer_list [
  (field_initializer field: (_) @name)
  (shorthand_field_initializer (identifier) @name)
])) @reference.value
(struct_pattern type: (_) @qualifier (field_pattern name: (_) @name)) @reference.value
(generic_function function: (identifier) @name) @reference.value
(attribute [(identifier) @name (scoped_identifier path: (_) @qualifier name: (_) @name)]) @reference.value
(_expression/identifier) @name @reference.mention
(tuple_struct_pattern type: (identifier) @name) @reference.value
; Most names in patterns are variables, which are left out.
(_pattern/identifier) @name @reference.mention
; No variable has members behind `::`.
(scoped_identifier path: (identifier) @name) @reference.value
(scoped_type_identifier path: (identifier) @name) @reference.value
; What a macro is given is not parsed.
([(token_tree (identifier) @name) (token_repetition (identifier) @name)]) @reference.mention
