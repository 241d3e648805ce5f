; inherits: cfamily
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @name)) @binding.variable
(optional_parameter_declaration type: (_) @type declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (reference_declarator (identifier) @name)
]) @binding.variable
(declaration type: (_) @type declarator: (init_declarator
  declarator: (reference_declarator (identifier) @name) value: (_) @value)) @binding.variable
(for_range_loop type: (_) @type declarator: [
  (identifier) @name
  (reference_declarator (identifier) @name)
] right: (_) @value) @binding.element
[
  (reference_declarator (identifier) @name)
  (variadic_declarator (identifier) @name)
  (structured_binding_declarator (identifier) @name)
  (lambda_capture_initializer left: (identifier) @name)
] @binding.variable
[
  (type_parameter_declaration (type_identifier) @name)
  (variadic_type_parameter_declaration (type_identifier) @name)
  (optional_type_parameter_declaration name: (type_identifier) @name)
] @binding.generic
