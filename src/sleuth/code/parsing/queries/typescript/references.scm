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

(type_annotation [(type_identifier) @name (nested_type_identifier module: (_) @qualifier name: (_) @name)]) @reference.type
(type_annotation (generic_type name: (type_identifier) @name)
  (#not-match? @name "^(Promise|Array|Map|Set|Record|Partial|Readonly)$")) @reference.type
(type_arguments [(type_identifier) @name (nested_type_identifier module: (_) @qualifier name: (_) @name)]) @reference.type
(union_type [(type_identifier) @name (nested_type_identifier module: (_) @qualifier name: (_) @name)]) @reference.type
(intersection_type [(type_identifier) @name (nested_type_identifier module: (_) @qualifier name: (_) @name)]) @reference.type
(array_type (type_identifier) @name) @reference.type
(as_expression (type_identifier) @name) @reference.type
(satisfies_expression (type_identifier) @name) @reference.type
(constraint (type_identifier) @name) @reference.type
(type_predicate type: (type_identifier) @name) @reference.type
