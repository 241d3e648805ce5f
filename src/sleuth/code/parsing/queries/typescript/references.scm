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
