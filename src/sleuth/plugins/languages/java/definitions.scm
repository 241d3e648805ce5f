(class_declaration name: (_) @name body: (_) @body) @definition.class
(interface_declaration name: (_) @name body: (_) @body) @definition.interface
(annotation_type_declaration name: (_) @name body: (_) @body) @definition.interface
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(record_declaration name: (_) @name body: (_) @body) @definition.class
(method_declaration name: (_) @name body: (_)? @body) @definition.method
(annotation_type_element_declaration name: (_) @name) @definition.method
(constructor_declaration name: (_) @name body: (_) @body) @definition.method
(compact_constructor_declaration name: (_) @name body: (_) @body) @definition.method
(field_declaration declarator: (variable_declarator name: (_) @name)) @definition.attribute
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @definition.attribute))
(enum_constant name: (_) @name) @definition.attribute
(constant_declaration declarator: (variable_declarator name: (_) @name)) @definition.attribute
