((identifier) @name . (selector (argument_part)) @reference.call)
((selector [
  (unconditional_assignable_selector (identifier) @name)
  (conditional_assignable_selector (identifier) @name)
]) . (selector (argument_part)) @reference.call)
([(identifier) (this) (super)] @qualifier . (selector [
  (unconditional_assignable_selector (identifier) @name)
  (conditional_assignable_selector (identifier) @name)
]) . (selector (argument_part)) @reference.call)
(new_expression (type_identifier) @name) @reference.instantiation
(const_object_expression (type_identifier) @name) @reference.instantiation

(superclass (type_identifier) @name) @reference.inheritance
(mixins (type_identifier) @name) @reference.inheritance
(interfaces (type_identifier) @name) @reference.inheritance
(mixin_declaration (identifier) (type_identifier) @name) @reference.inheritance

((type_identifier) @name @reference.type
  (#not-match? @name "^(int|double|num|bool|String|List|Map|Set|Object|Future|Iterable)$"))
(annotation name: (identifier) @name) @reference.value
(argument (identifier) @name) @reference.value
((identifier) @qualifier . (selector (unconditional_assignable_selector (identifier) @name)) @reference.value)
((identifier) @name . (selector (unconditional_assignable_selector)) @reference.value (#match? @name "^_?[A-Z]"))
