; inherits: ecma
(formal_parameters (identifier) @name) @binding.variable
(field_definition property: [(property_identifier) (private_property_identifier)] @name value: (_) @value) @binding.member
