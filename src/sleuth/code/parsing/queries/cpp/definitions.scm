; inherits: cfamily
(function_definition declarator: (_) @declarator body: (_)? @body) @definition.function
; `virtual void f() = 0;`
(field_declaration
  declarator: [
    (function_declarator) @declarator
    (pointer_declarator declarator: (function_declarator) @declarator)
    (reference_declarator (function_declarator) @declarator)
  ]
  default_value: (number_literal)) @definition.method
; A test of GoogleTest, `TEST(Suite, Name)`, is called by both.
(function_definition
  declarator: (function_declarator
    declarator: (identifier) @_macro
    parameters: (parameter_list
      . (parameter_declaration !declarator type: (type_identifier) @scope)
      . (parameter_declaration !declarator type: (type_identifier) @name) .))
  body: (_) @body
  (#match? @_macro "^(TYPED_)?TEST")) @definition.method
(class_specifier name: (_) @name body: (_) @body) @definition.class
(namespace_definition name: (_) @name body: (_) @body) @definition.module
(alias_declaration name: (_) @name) @definition.type

(template_declaration [
  (alias_declaration) (class_specifier) (declaration) (function_definition) (struct_specifier) (template_declaration)
  (union_specifier)
] @wrapped) @wrapper
