(formal_parameter type: (_) @type name: (identifier) @name) @binding.variable
(spread_parameter (variable_declarator name: (identifier) @name)) @binding.variable
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name value: [
  (method_invocation) (object_creation_expression) (identifier) (field_access)
]? @value)) @binding.variable
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name)) @binding.variable
(constant_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name)) @binding.variable
(enhanced_for_statement type: (_) @type name: (identifier) @name value: (_) @value) @binding.element
(resource type: (_) @type name: (identifier) @name value: (_) @value) @binding.variable
(catch_formal_parameter (catch_type) @type name: (identifier) @name) @binding.variable
(lambda_expression parameters: (identifier) @name) @binding.variable
(inferred_parameters (identifier) @name) @binding.variable
(instanceof_expression right: (_) @type name: (identifier) @name) @binding.variable
(type_pattern (_) @type (identifier) @name) @binding.variable
(record_pattern_component (_) @type (identifier) @name) @binding.variable
(method_declaration type: (_) @type name: (identifier) @name) @binding.variable
(type_parameter (type_identifier) @name (type_bound (_) @type)?) @binding.generic
