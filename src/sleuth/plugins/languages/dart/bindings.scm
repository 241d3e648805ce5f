(formal_parameter (type_identifier)? @type name: (identifier) @name) @binding.variable
(formal_parameter . (identifier) @name .) @binding.variable
(initialized_variable_definition (type_identifier) @type name: (identifier) @name) @binding.variable
(initialized_variable_definition name: (identifier) @name) @binding.variable
(initialized_variable_definition name: (identifier) @name value: (identifier) @value) @binding.variable
(initialized_identifier . (identifier) @name) @binding.variable
(class_body (declaration (type_identifier) @type
  (initialized_identifier_list (initialized_identifier . (identifier) @name)))) @binding.member
(for_loop_parts name: (identifier) @name) @binding.variable
(catch_parameters (identifier) @name) @binding.variable
(record_pattern (constant_pattern (identifier) @name)) @binding.variable
(function_signature (type_identifier) @type name: (identifier) @name) @binding.variable
