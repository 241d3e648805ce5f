; inherits: ecma, jsx
(class_heritage [
  (identifier) @name
  (member_expression object: (_) @qualifier property: (_) @name)
]) @reference.inheritance
