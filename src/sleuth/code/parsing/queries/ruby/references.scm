(superclass [
  (constant) @name
  (scope_resolution scope: (_)? @qualifier name: (_) @name)
]) @reference.inheritance
(call method: (identifier) @_mixes
  arguments: (argument_list [
    (constant) @name
    (scope_resolution scope: (_)? @qualifier name: (_) @name)
  ])
  (#any-of? @_mixes "include" "extend" "prepend")) @reference.inheritance

(call receiver: [
    (constant) @name
    (identifier) @name
    (scope_resolution scope: (_)? @qualifier name: (_) @name)
  ]
  method: (identifier) @_new
  (#eq? @_new "new")) @reference.instantiation
(call !receiver method: (_) @name) @reference.call
(call receiver: (_) @qualifier method: (_) @name (#not-eq? @name "new")) @reference.call
(constant) @name @reference.value
(scope_resolution scope: (_)? @qualifier name: (constant) @name) @reference.value
