(class_definition name: (_) @name body: (_) @body) @definition.class
(function_definition name: (_) @name body: (_) @body) @definition.function
(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @definition.type

(module (expression_statement (assignment left: (identifier) @name) @definition.constant))
(module (expression_statement
  (assignment left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]) @definition.constant)
  (#not-eq? @name "_"))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @definition.attribute)))
(class_definition body: (block (expression_statement
  (assignment left: (pattern_list (identifier) @name)) @definition.attribute)))

(decorated_definition definition: (_) @wrapped) @wrapper

(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))
