(class_declaration ["class" "actor"] name: (_) @name body: (_) @body) @definition.class
(class_declaration "struct" name: (_) @name body: (_) @body) @definition.struct
(class_declaration "enum" name: (_) @name body: (_) @body) @definition.enum
(class_declaration "extension" name: (_) @name body: (_) @body) @definition.impl
(protocol_declaration name: (_) @name body: (_) @body) @definition.interface
; Without the body: with it, compiling this pattern takes twice as long as all others together.
(function_declaration "func" . (simple_identifier) @name) @definition.function
(protocol_function_declaration name: (simple_identifier) @name) @definition.method
(init_declaration "init" @name body: (_)? @body) @definition.method
(typealias_declaration name: (type_identifier) @name) @definition.type
(enum_entry name: (simple_identifier) @name) @definition.attribute
(class_body (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.attribute)
(source_file (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.constant)
