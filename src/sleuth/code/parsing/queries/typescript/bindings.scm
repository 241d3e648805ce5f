; inherits: ecma
(variable_declarator name: (identifier) @name type: (type_annotation) @type) @binding.variable
(variable_declarator name: (identifier) @name value: (arrow_function return_type: (type_annotation) @type)) @binding.variable
(required_parameter pattern: (identifier) @name type: (type_annotation)? @type value: (_)? @value) @binding.variable
(optional_parameter pattern: (identifier) @name type: (type_annotation)? @type) @binding.variable
; A parameter with a modifier declares a member, too.
(required_parameter (accessibility_modifier) pattern: (identifier) @name type: (type_annotation) @type) @binding.member
(required_parameter "readonly" pattern: (identifier) @name type: (type_annotation) @type) @binding.member
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  type: (type_annotation)? @type value: (_)? @value) @binding.member
(property_signature name: (property_identifier) @name type: (type_annotation) @type) @binding.member
[
  (function_declaration name: (_) @name return_type: (type_annotation) @type)
  (function_signature name: (_) @name return_type: (type_annotation) @type)
  (method_definition name: (_) @name return_type: (type_annotation) @type)
  (method_signature name: (_) @name return_type: (type_annotation) @type)
  (abstract_method_signature name: (_) @name return_type: (type_annotation) @type)
] @binding.variable
; What is called declares the types of the parameters of a function that it takes.
([
  (call_expression arguments: (arguments [
    (arrow_function parameters: (formal_parameters (required_parameter pattern: (identifier) @name !type)))
    (arrow_function parameter: (identifier) @name)
    (function_expression parameters: (formal_parameters (required_parameter pattern: (identifier) @name !type)))
  ]))
  (new_expression arguments: (arguments [
    (arrow_function parameters: (formal_parameters (required_parameter pattern: (identifier) @name !type)))
    (arrow_function parameter: (identifier) @name)
    (function_expression parameters: (formal_parameters (required_parameter pattern: (identifier) @name !type)))
  ]))
] @value) @binding.argument
(type_parameter name: (type_identifier) @name constraint: (constraint (_) @type)?) @binding.generic
[(infer_type (type_identifier) @name) (mapped_type_clause name: (type_identifier) @name)] @binding.generic
(type_alias_declaration name: (type_identifier) @name value: (_) @type) @binding.variable
(required_parameter pattern: (this) @name type: (type_annotation) @type) @binding.variable
