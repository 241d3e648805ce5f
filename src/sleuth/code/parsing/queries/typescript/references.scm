; inherits: ecma
(extends_clause value: [
  (identifier) @name
  (member_expression object: (_) @qualifier property: (_) @name)
]) @reference.inheritance
(implements_clause [
  (type_identifier) @name
  (nested_type_identifier module: (_) @qualifier name: (_) @name)
  (generic_type name: (type_identifier) @name)
  (generic_type name: (nested_type_identifier module: (_) @qualifier name: (_) @name))
]) @reference.inheritance
(extends_type_clause type: [
  (type_identifier) @name
  (nested_type_identifier module: (_) @qualifier name: (_) @name)
  (generic_type name: (type_identifier) @name)
  (generic_type name: (nested_type_identifier module: (_) @qualifier name: (_) @name))
]) @reference.inheritance

(type_identifier) @name @reference.type
(nested_type_identifier module: (_) @qualifier name: (_) @name) @reference.type
(nested_type_identifier module: (identifier) @name) @reference.mention
(type_query (identifier) @name) @reference.mention
(type_query (member_expression object: (identifier) @name)) @reference.mention
; A property in `const s: S = { name: 1 }` is one of `S`, and so is one in `function f({ name }: S)`.
(variable_declarator type: (type_annotation (_) @qualifier)
  value: (object (pair key: (property_identifier) @name))) @reference.value
([(as_expression (object (pair key: (property_identifier) @name)) (_) @qualifier)
  (satisfies_expression (object (pair key: (property_identifier) @name)) (_) @qualifier)]) @reference.value
(required_parameter pattern: (object_pattern [
  (shorthand_property_identifier_pattern) @name
  (pair_pattern key: (property_identifier) @name)
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
]) type: (type_annotation (_) @qualifier)) @reference.value
