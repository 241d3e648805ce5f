(class_definition name: (_) @name body: (_)? @body) @definition.class
(object_definition name: (_) @name body: (_)? @body) @definition.class
(package_object name: (_) @name body: (_)? @body) @definition.class
(given_definition name: (_) @name body: (with_template_body) @body) @definition.class
(given_definition name: (_) @name) @definition.constant
(trait_definition name: (_) @name body: (_)? @body) @definition.trait
(enum_definition name: (_) @name body: (_) @body) @definition.enum
(function_definition name: (_) @name body: (_) @body) @definition.function
(function_declaration name: (_) @name) @definition.function
(template_body (val_definition pattern: (identifier) @name) @definition.attribute)
(simple_enum_case name: (_) @name) @definition.attribute
(full_enum_case name: (_) @name) @definition.attribute
(type_definition name: (_) @name) @definition.type
(class_parameter name: (_) @name) @definition.attribute
(template_body (var_definition pattern: (identifier) @name) @definition.attribute)
