(class_definition superclasses: (argument_list [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
  (subscript value: (identifier) @name)
  (subscript value: (attribute object: (_) @qualifier attribute: (_) @name))
])) @reference.inheritance

(call function: (identifier) @name) @reference.call
(call function: (attribute object: (_) @qualifier attribute: (_) @name)) @reference.call

(decorator (identifier) @name) @reference.value
(decorator (attribute object: (_) @qualifier attribute: (_) @name)) @reference.value
(argument_list (identifier) @name) @reference.value
(keyword_argument value: (identifier) @name) @reference.value
(list (identifier) @name) @reference.value

(type [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
  (generic_type (identifier) @name)
  (subscript value: (attribute object: (_) @qualifier attribute: (_) @name))
]) @reference.type
; Unions of two to four types: `A | B`, `A | B | C`, …
(type (binary_operator [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
  (subscript (identifier) @name)
])) @reference.type
(type (binary_operator (binary_operator [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
  (subscript (identifier) @name)
]))) @reference.type
(type (binary_operator (binary_operator (binary_operator [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
])))) @reference.type

(call function: (identifier) @_check
  arguments: (argument_list (tuple [
    (identifier) @name
    (attribute object: (_) @qualifier attribute: (_) @name)
  ]))
  (#any-of? @_check "isinstance" "issubclass")) @reference.type
(except_clause [
  (identifier) @name
  (tuple (identifier) @name)
  (tuple (attribute object: (_) @qualifier attribute: (_) @name))
]) @reference.type
(raise_statement [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
]) @reference.type
