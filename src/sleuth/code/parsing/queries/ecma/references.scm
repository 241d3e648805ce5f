(call_expression function: (identifier) @name) @reference.call
(call_expression function: (member_expression object: (_) @qualifier property: (_) @name)) @reference.call
(new_expression constructor: (identifier) @name) @reference.instantiation
(new_expression constructor: (member_expression object: (_) @qualifier property: (_) @name)) @reference.instantiation
(arguments (identifier) @name) @reference.value
(binary_expression operator: "instanceof" right: [
  (identifier) @name
  (member_expression object: (_) @qualifier property: (_) @name)
]) @reference.type
