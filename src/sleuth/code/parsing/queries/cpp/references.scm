; inherits: cfamily
(base_class_clause [
  (type_identifier) @name
  (qualified_identifier scope: (_)? @qualifier name: (type_identifier) @name)
  (qualified_identifier scope: (_)? @qualifier name: (template_type name: (_) @name))
  (template_type name: (_) @name)
]) @reference.inheritance

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression argument: (_) @qualifier field: (field_identifier) @name)) @reference.call
(call_expression function: (qualified_identifier scope: (_)? @qualifier name: [
  (identifier) @name
  (template_function name: (_) @name)
  (qualified_identifier name: (identifier) @name)
  (qualified_identifier name: (template_function name: (_) @name))
])) @reference.call
(call_expression function: (template_function name: (identifier) @name)) @reference.call
(new_expression type: [
  (type_identifier) @name
  (qualified_identifier scope: (_)? @qualifier name: (type_identifier) @name)
  (template_type name: (_) @name)
]) @reference.instantiation

(call_expression function: (field_expression
  argument: (_) @qualifier field: [(template_method name: (_) @name) (dependent_name (template_method name: (_) @name))])) @reference.call
(qualified_identifier scope: (_) @qualifier name: [
  (identifier) @name
  (type_identifier) @name
  (template_type name: (_) @name)
]) @reference.value
(qualified_identifier scope: (namespace_identifier) @name (#not-eq? @name "std")) @reference.value
(field_initializer (field_identifier) @name) @reference.value
(case_statement value: (identifier) @name) @reference.mention
