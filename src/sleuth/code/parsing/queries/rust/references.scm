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

[
  (parameter type: (type_identifier) @name)
  (field_declaration type: (type_identifier) @name)
  (ordered_field_declaration_list (type_identifier) @name)
  (function_item return_type: (type_identifier) @name)
  (let_declaration type: (type_identifier) @name)
  (type_cast_expression type: (type_identifier) @name)
  (type_arguments (type_identifier) @name)
  (generic_type type: (type_identifier) @name)
  (dynamic_type trait: (type_identifier) @name)
  (array_type element: (type_identifier) @name)
  (tuple_type (type_identifier) @name)
  (scoped_type_identifier path: (_) @qualifier name: (type_identifier) @name)
] @reference.type
(reference_type type: (type_identifier) @name) @reference.type
(arguments (identifier) @name) @reference.value
