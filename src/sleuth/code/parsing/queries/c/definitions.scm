; inherits: cfamily
(function_definition declarator: (_) @declarator body: (_) @body) @definition.function
(translation_unit (declaration declarator: (init_declarator declarator: [
  (identifier) @name
  (array_declarator declarator: (identifier) @name)
])) @definition.constant)
