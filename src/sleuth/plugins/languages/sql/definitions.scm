(create_table (object_reference schema: (_)? @scope name: (_) @name)) @definition.struct
(create_view (object_reference schema: (_)? @scope name: (_) @name)) @definition.struct
(create_materialized_view (object_reference schema: (_)? @scope name: (_) @name)) @definition.struct
(create_type (object_reference schema: (_)? @scope name: (_) @name)) @definition.type
(create_function . (keyword_create) (object_reference schema: (_)? @scope name: (_) @name)
  (function_arguments) (function_body)? @body) @definition.function
(create_index column: (identifier) @name) @definition.constant
(create_table (column_definitions (column_definition name: (_) @name) @definition.attribute))
