(invocation (object_reference schema: (_)? @qualifier name: (_) @name)) @reference.call
(relation (object_reference schema: (_)? @qualifier name: (_) @name)) @reference.value
(insert (object_reference schema: (_)? @qualifier name: (_) @name)) @reference.value
(alter_table . (keyword_alter) . (keyword_table)
  (object_reference schema: (_)? @qualifier name: (_) @name)) @reference.value
(create_index (object_reference schema: (_)? @qualifier name: (_) @name)) @reference.value
; A foreign key.
(column_definition (object_reference schema: (_)? @qualifier name: (_) @name)) @reference.type
