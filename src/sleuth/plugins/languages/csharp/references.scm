(base_list [
  (identifier) @name
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
  (generic_name (identifier) @name)
  (primary_constructor_base_type type: (identifier) @name)
  (primary_constructor_base_type type: (generic_name (identifier) @name))
  (primary_constructor_base_type type: (qualified_name qualifier: (_) @qualifier name: (identifier) @name))
]) @reference.inheritance

(invocation_expression function: [
  (identifier) @name
  (generic_name (identifier) @name)
  (member_access_expression expression: _ @qualifier name: (identifier) @name)
  (member_access_expression expression: _ @qualifier name: (generic_name (identifier) @name))
  (conditional_access_expression
    condition: (_) @qualifier (member_binding_expression name: (identifier) @name))
]) @reference.call
(object_creation_expression type: [
  (identifier) @name
  (generic_name (identifier) @name)
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.instantiation

(type/identifier) @name @reference.type
(nullable_type type: (identifier) @name) @reference.type
(array_type type: (identifier) @name) @reference.type
(generic_name (identifier) @name) @reference.type
(qualified_name qualifier: (identifier) @name) @reference.type
(qualified_name qualifier: (_) @qualifier name: [(identifier) @name (generic_name (identifier) @name)]) @reference.type
(explicit_interface_specifier (identifier) @name) @reference.type
(attribute name: [
  (identifier) @name
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(member_access_expression expression: _ @qualifier name: (identifier) @name) @reference.value
(conditional_access_expression
  condition: (_) @qualifier (member_binding_expression name: (identifier) @name)) @reference.value
(lvalue_expression/identifier) @name @reference.mention
(constant_pattern (identifier) @name) @reference.mention
(attribute name: (_) @qualifier (attribute_argument_list (attribute_argument name: (identifier) @name))) @reference.value
; A member in `new S { Name = 1 }` is one of `S`.
(object_creation_expression type: (_) @qualifier
  initializer: (initializer_expression (assignment_expression left: (identifier) @name))) @reference.value
