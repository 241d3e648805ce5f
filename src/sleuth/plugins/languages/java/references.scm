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

[
  (formal_parameter type: (type_identifier) @name)
  (local_variable_declaration type: (type_identifier) @name)
  (field_declaration type: (type_identifier) @name)
  (method_declaration type: (type_identifier) @name)
  (annotation_type_element_declaration type: (type_identifier) @name)
  (generic_type . (type_identifier) @name)
  (type_arguments (type_identifier) @name)
  (wildcard (type_identifier) @name)
  (array_type element: (type_identifier) @name)
  (cast_expression type: (type_identifier) @name)
  (instanceof_expression right: (type_identifier) @name)
  (class_literal (type_identifier) @name)
  (throws (type_identifier) @name)
  (catch_type (type_identifier) @name)
  (scoped_type_identifier (_) @qualifier . (type_identifier) @name .)
] @reference.type
(marker_annotation name: [(identifier) @name (scoped_identifier scope: (_) @qualifier name: (_) @name)]) @reference.type
(annotation name: [(identifier) @name (scoped_identifier scope: (_) @qualifier name: (_) @name)]) @reference.type
(method_reference (identifier) @name) @reference.value
(argument_list (identifier) @name) @reference.value
