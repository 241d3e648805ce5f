(function_call name: (identifier) @name) @reference.call
(function_call name: (dot_index_expression table: (_) @qualifier field: (_) @name)) @reference.call
(function_call name: (method_index_expression table: (_) @qualifier method: (_) @name)) @reference.call
(arguments (identifier) @name) @reference.value
