(function_item name: (_) @name body: (_) @body) @definition.function
(function_signature_item name: (_) @name) @definition.function
(struct_item name: (_) @name body: (_)? @body) @definition.struct
(union_item name: (_) @name body: (_) @body) @definition.struct
(enum_item name: (_) @name body: (_) @body) @definition.enum
(trait_item name: (_) @name body: (_) @body) @definition.trait
(impl_item type: (_) @name body: (_)? @body) @definition.impl
(mod_item name: (_) @name body: (_)? @body) @definition.module
(macro_definition name: (_) @name) @definition.macro
(const_item name: (_) @name) @definition.constant
(static_item name: (_) @name) @definition.constant
[(type_item name: (_) @name) (associated_type name: (_) @name)] @definition.type
(enum_variant name: (_) @name) @definition.attribute
(field_declaration name: (_) @name) @definition.attribute
