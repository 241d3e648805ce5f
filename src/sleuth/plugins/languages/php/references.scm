(base_clause [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.inheritance
(class_interface_clause [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.inheritance
(use_declaration [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.inheritance

(function_call_expression function: [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.call
(member_call_expression object: (_) @qualifier name: (_) @name) @reference.call
(scoped_call_expression scope: (_) @qualifier name: (_) @name) @reference.call
(object_creation_expression
  [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.instantiation

(named_type [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]
  (#not-match? @name "^(self|static|parent)$")) @reference.type
(class_constant_access_expression
  . [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.type
(binary_expression operator: "instanceof"
  right: [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.type
((class_constant_access_expression (_) @qualifier . (name) @name .) @reference.value
  (#not-eq? @name "class"))
(scoped_call_expression scope: [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.type
(scoped_property_access_expression
  scope: [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.type
(scoped_property_access_expression scope: (_) @qualifier name: (variable_name (name) @name)) @reference.value
(member_access_expression object: (_) @qualifier name: (name) @name) @reference.value
(nullsafe_member_access_expression object: (_) @qualifier name: (name) @name) @reference.value
(nullsafe_member_call_expression object: (_) @qualifier name: (name) @name) @reference.call
(primary_expression/name) @name @reference.mention
(attribute [(name) @name (qualified_name prefix: (_)? @qualifier (name) @name)]) @reference.type
