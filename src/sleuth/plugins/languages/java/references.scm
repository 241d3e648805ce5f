(superclass [
  (type_identifier) @name
  (scoped_type_identifier (_) @qualifier . (type_identifier) @name .)
  (generic_type . (type_identifier) @name)
  (generic_type . (scoped_type_identifier (_) @qualifier . (type_identifier) @name .))
]) @reference.inheritance
(type_list [
  (type_identifier) @name
  (scoped_type_identifier (_) @qualifier . (type_identifier) @name .)
  (generic_type . (type_identifier) @name)
  (generic_type . (scoped_type_identifier (_) @qualifier . (type_identifier) @name .))
]) @reference.inheritance

(method_invocation !object name: (_) @name) @reference.call
(method_invocation object: (_) @qualifier name: (_) @name) @reference.call
(object_creation_expression type: [
  (type_identifier) @name
  (scoped_type_identifier (_) @qualifier . (type_identifier) @name .)
  (generic_type . (type_identifier) @name)
  (generic_type . (scoped_type_identifier (_) @qualifier . (type_identifier) @name .))
]) @reference.instantiation

(type_identifier) @name @reference.mention
(scoped_type_identifier (_) @qualifier . (type_identifier) @name .) @reference.type
(marker_annotation name: [(identifier) @name (scoped_identifier scope: (_) @qualifier name: (_) @name)]) @reference.type
(annotation name: [(identifier) @name (scoped_identifier scope: (_) @qualifier name: (_) @name)]) @reference.type
(field_access object: (_) @qualifier field: (identifier) @name) @reference.value
(method_reference (_) @qualifier . (identifier) @name .) @reference.value
(primary_expression/identifier) @name @reference.mention
(assignment_expression left: (identifier) @name) @reference.mention
