(function_definition declarator: (_) @declarator body: (_) @body) @definition.function
(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(union_specifier name: (_) @name body: (_) @body) @definition.struct
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(type_definition declarator: [(type_identifier) @name (pointer_declarator (type_identifier) @name)]) @definition.type
(preproc_function_def name: (_) @name) @definition.macro
(preproc_def name: (_) @name) @definition.constant
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant)

(type_definition type: (_) @wrapped) @wrapper
