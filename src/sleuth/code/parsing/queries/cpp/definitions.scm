(function_definition declarator: (_) @declarator body: (_)? @body) @definition.function
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
(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(union_specifier name: (_) @name body: (_) @body) @definition.struct
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(namespace_definition name: (_) @name body: (_) @body) @definition.module
(type_definition declarator: [(type_identifier) @name (pointer_declarator (type_identifier) @name)]) @definition.type
(alias_declaration name: (_) @name) @definition.type
(preproc_function_def name: (_) @name) @definition.macro
(preproc_def name: (_) @name) @definition.constant

(type_definition type: (_) @wrapped) @wrapper
(template_declaration [
  (alias_declaration) (class_specifier) (declaration) (function_definition) (struct_specifier) (template_declaration)
  (union_specifier)
] @wrapped) @wrapper
