(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(union_specifier name: (_) @name body: (_) @body) @definition.struct
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(field_declaration declarator: [
  (field_identifier) @name
  (array_declarator declarator: (field_identifier) @name)
  (pointer_declarator declarator: (field_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))
]) @definition.attribute
(enumerator name: (_) @name) @definition.attribute
(type_definition declarator: [
  (type_identifier) @name
  (pointer_declarator (type_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
  ]))
]) @definition.type
(preproc_function_def name: (_) @name) @definition.macro
(preproc_def name: (_) @name) @definition.constant

(type_definition type: (_) @wrapped) @wrapper
