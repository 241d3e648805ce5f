(delegation_specifier (user_type . (identifier) @name)) @reference.inheritance
(delegation_specifier (constructor_invocation (user_type . (identifier) @name))) @reference.inheritance
(delegation_specifier (user_type (identifier) @qualifier . (identifier) @name)) @reference.inheritance
(delegation_specifier
  (constructor_invocation (user_type (identifier) @qualifier . (identifier) @name))) @reference.inheritance
(call_expression . (identifier) @name) @reference.call
(call_expression . (navigation_expression (_) @qualifier . (identifier) @name .)) @reference.call
(annotation (user_type (identifier) @name)) @reference.type
((user_type . (identifier) @name) @reference.type
  (#not-match? @name "^(Any|Boolean|Byte|Char|Double|Float|Int|Long|Nothing|Short|String|Unit)$"))
(user_type (identifier) @qualifier . (identifier) @name) @reference.type
(navigation_expression (_) @qualifier . (identifier) @name .) @reference.value
((primary_expression/identifier) @name @reference.mention (#not-match? @name "^(it|null)$"))
(callable_reference (identifier) @name .) @reference.value
(assignment left: (identifier) @name) @reference.mention
(interpolation (identifier) @name) @reference.mention
(infix_expression (_) @qualifier . (identifier) @name . (_)) @reference.call
; An argument by name of a constructor may set a property.
((call_expression . (identifier) @qualifier (value_arguments (value_argument . (identifier) @name "="))) @reference.value
  (#match? @qualifier "^[A-Z]"))
