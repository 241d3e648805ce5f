(class_definition name: (_) @name body: (_) @body) @definition.class
(mixin_declaration (mixin) . (identifier) @name (class_body) @body) @definition.trait
(extension_declaration name: (_) @name body: (_) @body) @definition.impl
(extension_type_declaration name: (_) @name body: (_) @body) @definition.class
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(enum_constant name: (_) @name) @definition.attribute
(type_alias . (type_identifier) @name) @definition.type

; The body of a function stands beside its signature.
(program (function_signature name: (_) @name) @definition.function . (function_body)? @body)
(program (getter_signature name: (_) @name) @definition.function . (function_body)? @body)
(program (setter_signature name: (_) @name) @definition.function . (function_body)? @body)
(local_function_declaration (lambda_expression (function_signature name: (_) @name) (function_body) @body)) @definition.function
((method_signature (function_signature name: (_) @name)) @definition.method . (function_body)? @body)
((method_signature (getter_signature name: (_) @name)) @definition.property . (function_body)? @body)
((method_signature (setter_signature name: (_) @name)) @definition.property . (function_body)? @body)
((method_signature (operator_signature (binary_operator) @name)) @definition.method . (function_body)? @body)
((method_signature (constructor_signature . name: (_) @name . parameters: (_))) @definition.method . (function_body)? @body)
((method_signature (constructor_signature . name: (_) . name: (_) @name)) @definition.method . (function_body)? @body)
((method_signature (factory_constructor_signature . (identifier) @name . (formal_parameter_list))) @definition.method
  . (function_body)? @body)
((method_signature (factory_constructor_signature . (identifier) . (identifier) @name)) @definition.method
  . (function_body)? @body)
(declaration (function_signature name: (_) @name)) @definition.method
(declaration (getter_signature name: (_) @name)) @definition.property
(declaration (setter_signature name: (_) @name)) @definition.property
(declaration (constructor_signature . name: (_) @name . parameters: (_))) @definition.method
(declaration (constructor_signature . name: (_) . name: (_) @name)) @definition.method
(declaration (constant_constructor_signature . (const_builtin) . (identifier) @name . (formal_parameter_list))) @definition.method
(declaration (constant_constructor_signature . (const_builtin) . (identifier) . (identifier) @name)) @definition.method

(class_body (declaration (initialized_identifier_list (initialized_identifier . (identifier) @name))) @definition.attribute)
(class_body
  (declaration (static_final_declaration_list (static_final_declaration . (identifier) @name))) @definition.attribute)
(program (static_final_declaration_list (static_final_declaration . (identifier) @name) @definition.constant))
(program (initialized_identifier_list (initialized_identifier . (identifier) @name) @definition.constant))
