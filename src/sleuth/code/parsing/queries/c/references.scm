; inherits: cfamily
(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression argument: (_) @qualifier field: (_) @name)) @reference.call
