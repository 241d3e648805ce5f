(parameter_declaration type: (_) @type declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
]) @binding.variable
(declaration type: (_) @type declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
]) @binding.variable
(declaration type: (_) @type declarator: (init_declarator declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
] value: (_) @value)) @binding.variable
(array_declarator declarator: (identifier) @name) @binding.variable
(pointer_declarator declarator: (identifier) @name) @binding.variable
(field_declaration type: (_) @type declarator: [
  (field_identifier) @name
  (pointer_declarator declarator: (field_identifier) @name)
]) @binding.member
(preproc_params (identifier) @name) @binding.variable
