(inheritance_specifier inherits_from: (user_type (type_identifier) @name)) @reference.inheritance
(call_expression . (simple_identifier) @name) @reference.call
(call_expression . (navigation_expression
  target: (_) @qualifier
  suffix: (navigation_suffix suffix: (simple_identifier) @name))) @reference.call
(user_type (type_identifier) @name) @reference.type
(value_argument value: (simple_identifier) @name) @reference.value
