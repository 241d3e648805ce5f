(class_declaration "class" name: (_) @name) @definition.class
(class_declaration "interface" name: (_) @name) @definition.interface
(class_declaration name: (_) @name (enum_class_body)) @definition.enum
(object_declaration name: (_) @name) @definition.class
(companion_object name: (_) @name) @definition.class
(companion_object !name "companion" @name) @definition.class
(function_declaration name: (_) @name (function_body)? @body) @definition.function
(type_alias type: (_) @name) @definition.type
(source_file (property_declaration (variable_declaration (identifier) @name)) @definition.constant)
(source_file
  (property_declaration (multi_variable_declaration (variable_declaration (identifier) @name))) @definition.constant)
(enum_entry (identifier) @name) @definition.attribute
(class_body (property_declaration (variable_declaration (identifier) @name)) @definition.attribute)
(class_parameter ["val" "var"] (identifier) @name) @definition.attribute
