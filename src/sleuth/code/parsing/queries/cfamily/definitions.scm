(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(union_specifier name: (_) @name body: (_) @body) @definition.struct
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(type_definition declarator: [(type_identifier) @name (pointer_declarator (type_identifier) @name)]) @definition.type
(preproc_function_def name: (_) @name) @definition.macro
(preproc_def name: (_) @name) @definition.constant

(type_definition type: (_) @wrapped) @wrapper
