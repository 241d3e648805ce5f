(inheritance_specifier inherits_from: (user_type (type_identifier) @name)) @reference.inheritance
(call_expression . (simple_identifier) @name) @reference.call
(call_expression . (navigation_expression
  target: (_) @qualifier
  suffix: (navigation_suffix suffix: (simple_identifier) @name))) @reference.call
(user_type (type_identifier) @name) @reference.type
(navigation_expression target: (_) @qualifier suffix: (navigation_suffix suffix: (simple_identifier) @name)) @reference.value
(simple_identifier) @name @reference.mention
(value_argument_label (simple_identifier) @name) @reference.elsewhere
(parameter external_name: (simple_identifier) @name) @reference.elsewhere
