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
