(function_declaration name: (_) @name body: (_)? @body) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @scope
    (generic_type type: (type_identifier) @scope)
    (pointer_type (type_identifier) @scope)
    (pointer_type (generic_type type: (type_identifier) @scope))
  ]))
  name: (_) @name
  body: (_)? @body) @definition.method
(type_spec name: (_) @name type: (struct_type)) @definition.struct
(type_spec name: (_) @name type: (interface_type)) @definition.interface
(type_spec type: (struct_type (field_declaration_list (field_declaration name: (_) @name) @definition.attribute)))
(type_spec type: (interface_type (method_elem name: (_) @name) @definition.method))
(type_spec name: (_) @name) @definition.type
(type_alias name: (_) @name) @definition.type
(source_file (const_declaration (const_spec (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec (identifier) @name) @definition.constant) (#not-eq? @name "_"))
(source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @definition.constant))
  (#not-eq? @name "_"))

(type_declaration [(type_spec) (type_alias)] @wrapped) @wrapper
(const_declaration (const_spec) @wrapped) @wrapper
(var_declaration (var_spec) @wrapped) @wrapper
