(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression argument: (_) @qualifier field: (_) @name)) @reference.call
(parameter_declaration type: (type_identifier) @name) @reference.type
(declaration type: (type_identifier) @name) @reference.type
(field_declaration type: (type_identifier) @name) @reference.type
(function_definition type: (type_identifier) @name) @reference.type
(type_descriptor type: (type_identifier) @name) @reference.type
(struct_specifier name: (type_identifier) @name !body) @reference.type
(union_specifier name: (type_identifier) @name !body) @reference.type
(enum_specifier name: (type_identifier) @name !body) @reference.type
(expression/identifier) @name @reference.mention
(field_expression argument: (_) @qualifier field: (field_identifier) @name) @reference.value
(field_designator (field_identifier) @name) @reference.value
(assignment_expression left: (identifier) @name) @reference.mention
