(parameter_declaration name: (identifier) @name type: (_) @type) @binding.variable
(variadic_parameter_declaration name: (identifier) @name) @binding.variable
; The first name has the first value, or the first of the results of a call.
(var_spec . name: (identifier) @name type: (_)? @type value: (expression_list . (_) @value)?) @binding.variable
(var_spec name: (identifier) . name: (identifier) @name type: (_)? @type) @binding.variable
(const_spec name: (identifier) @name) @binding.variable
(short_var_declaration
  left: (expression_list . (identifier) @name)
  right: (expression_list . (_) @value)) @binding.variable
(short_var_declaration left: (expression_list (_) . (identifier) @name)) @binding.variable
(assignment_statement
  left: (expression_list . (identifier) @name)
  right: (expression_list . [(call_expression) (unary_expression) (composite_literal)] @value)) @binding.assigned
(range_clause left: (expression_list . (identifier) @name)) @binding.variable
(range_clause left: (expression_list (identifier) . (identifier) @name) right: (_) @value) @binding.element
(type_switch_statement alias: (expression_list (identifier) @name)) @binding.variable
(receive_statement left: (expression_list (identifier) @name)) @binding.variable
(field_declaration name: (field_identifier) @name type: (_) @type) @binding.member
; Of several results the first one counts.
[
  (function_declaration name: (_) @name result: [(_simple_type) @type (parameter_list . (parameter_declaration type: (_) @type))])
  (method_declaration name: (_) @name result: [(_simple_type) @type (parameter_list . (parameter_declaration type: (_) @type))])
  (method_elem name: (_) @name result: [(_simple_type) @type (parameter_list . (parameter_declaration type: (_) @type))])
] @binding.variable
(type_parameter_declaration name: (identifier) @name type: (type_constraint) @type) @binding.generic
