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
(tuple (identifier) @name) @reference.value
(pair value: (identifier) @name) @reference.value
(return_statement (identifier) @name) @reference.value
(with_item value: (identifier) @name) @reference.value
(with_item value: (as_pattern . (identifier) @name)) @reference.value
(with_item value: (attribute object: (_) @qualifier attribute: (_) @name)) @reference.value
; `a = Base` and `Color.RED`: of other names nearly all are variables.
((assignment right: (identifier) @name) @reference.value (#match? @name "^_?[A-Z]"))
((attribute object: (identifier) @name) @reference.value (#match? @name "^_?[A-Z]"))

(type [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
  (generic_type (identifier) @name)
  (subscript value: (attribute object: (_) @qualifier attribute: (_) @name))
]) @reference.type
; A name in quotes, since it is defined further down: `def parent(self) -> "Node"`.
((type (string (string_content) @name)) @reference.type (#match? @name "^[A-Za-z_][A-Za-z_0-9]*$"))
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
