(call_expression function: (identifier) @name) @reference.call
(call_expression function: (member_expression object: (_) @qualifier property: (_) @name)) @reference.call
(new_expression constructor: (identifier) @name) @reference.instantiation
(new_expression constructor: (member_expression object: (_) @qualifier property: (_) @name)) @reference.instantiation
(member_expression object: (_) @qualifier property: [(property_identifier) (private_property_identifier)] @name) @reference.value
(primary_expression/identifier) @name @reference.mention
(shorthand_property_identifier) @name @reference.mention
; `const { size } = queue` reads `queue.size`.
(variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @name
  (pair_pattern key: (property_identifier) @name)
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
]) value: (_) @qualifier) @reference.value
(binary_expression operator: "instanceof" right: [
  (identifier) @name
  (member_expression object: (_) @qualifier property: (_) @name)
]) @reference.type
(assignment_expression left: (identifier) @name) @reference.mention
(augmented_assignment_expression left: (identifier) @name) @reference.mention
(export_specifier name: (identifier) @name) @reference.mention
