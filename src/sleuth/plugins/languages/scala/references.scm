(extends_clause (type_identifier) @name) @reference.inheritance
(extends_clause (generic_type . (type_identifier) @name)) @reference.inheritance
(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression value: (_) @qualifier field: (_) @name)) @reference.call
(instance_expression (type_identifier) @name) @reference.instantiation
(field_expression value: (_) @qualifier field: (identifier) @name) @reference.value
(stable_identifier (_) @qualifier . (identifier) @name .) @reference.value
(identifier) @name @reference.mention
(infix_expression left: (_) @qualifier operator: (identifier) @name) @reference.call
(package_identifier (identifier) @name) @reference.elsewhere
(type_identifier) @name @reference.type
(arguments (assignment_expression left: (identifier) @name)) @reference.elsewhere
(stable_type_identifier (_) @qualifier . (type_identifier) @name .) @reference.type
