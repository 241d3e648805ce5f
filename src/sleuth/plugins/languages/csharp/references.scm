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

(parameter type: [
  (identifier) @name
  (generic_name (identifier) @name)
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(variable_declaration type: [
  (identifier) @name
  (generic_name (identifier) @name)
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(property_declaration type: [
  (identifier) @name
  (generic_name (identifier) @name)
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(method_declaration returns: [
  (identifier) @name
  (generic_name (identifier) @name)
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(type_argument_list [
  (identifier) @name
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(nullable_type type: (identifier) @name) @reference.type
(array_type type: (identifier) @name) @reference.type
(typeof_expression type: [
  (identifier) @name
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(cast_expression type: (identifier) @name) @reference.type
(as_expression right: (identifier) @name) @reference.type
(is_expression right: (identifier) @name) @reference.type
(declaration_pattern type: (identifier) @name) @reference.type
(attribute name: [
  (identifier) @name
  (qualified_name qualifier: (_) @qualifier name: (identifier) @name)
]) @reference.type
(argument (identifier) @name) @reference.value
