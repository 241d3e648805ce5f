(from_instruction (image_spec name: (image_name) @name)) @reference.inheritance
(expansion (variable) @name) @reference.value
