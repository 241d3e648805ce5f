; inherits: ecma
(abstract_class_declaration name: (_) @name body: (_) @body) @definition.class
(interface_declaration name: (_) @name body: (_) @body) @definition.interface
(interface_body (method_signature name: (_) @name) @definition.method)
(interface_body (property_signature name: (_) @name) @definition.attribute)
(type_alias_declaration name: (_) @name) @definition.type
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(internal_module name: (_) @name body: (_)? @body) @definition.module
(function_signature name: (_) @name) @definition.function
(abstract_method_signature name: (_) @name) @definition.method
(public_field_definition name: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method

(ambient_declaration (_) @wrapped) @wrapper
(public_field_definition name: (_) @name) @definition.attribute
(enum_body name: (_) @name @definition.attribute)
(enum_assignment name: (_) @name) @definition.attribute
