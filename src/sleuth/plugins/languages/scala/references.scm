(extends_clause (type_identifier) @name) @reference.inheritance
(extends_clause (generic_type . (type_identifier) @name)) @reference.inheritance
(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression value: (_) @qualifier field: (_) @name)) @reference.call
(instance_expression (type_identifier) @name) @reference.instantiation
(parameter type: (type_identifier) @name) @reference.type
(arguments (identifier) @name) @reference.value
