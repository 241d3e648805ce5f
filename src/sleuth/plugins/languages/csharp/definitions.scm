(class_declaration name: (_) @name body: (_)? @body) @definition.class
(interface_declaration name: (_) @name body: (_)? @body) @definition.interface
(struct_declaration name: (_) @name body: (_)? @body) @definition.struct
(enum_declaration name: (_) @name body: (_)? @body) @definition.enum
(record_declaration name: (_) @name body: (_)? @body) @definition.class
(namespace_declaration name: (_) @name body: (_)? @body) @definition.module
; What follows a namespace without braces stands in it.
((file_scoped_namespace_declaration name: (_) @name) @definition.module (#set! reaches "end of file"))
(delegate_declaration name: (_) @name) @definition.type
(method_declaration name: (_) @name body: (_)? @body) @definition.method
(constructor_declaration name: (_) @name body: (_)? @body) @definition.method
(property_declaration name: (_) @name) @definition.property
(event_declaration name: (_) @name) @definition.property
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @definition.attribute
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @definition.attribute
(enum_member_declaration name: (_) @name) @definition.attribute
(record_declaration (parameter_list (parameter name: (_) @name) @definition.property))
(operator_declaration "operator" . _ @name) @definition.method
(conversion_operator_declaration ["implicit" "explicit"] @name) @definition.method
(indexer_declaration "this" @name) @definition.property
