; inherits: ecma
(field_definition property: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @definition.class
(field_definition property: (_) @name) @definition.attribute
