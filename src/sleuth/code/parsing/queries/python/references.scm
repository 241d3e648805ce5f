(class_definition superclasses: (argument_list [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
  (subscript value: (identifier) @name)
  (subscript value: (attribute object: (_) @qualifier attribute: (_) @name))
])) @reference.inheritance

(call function: (identifier) @name) @reference.call
(call function: (attribute object: (_) @qualifier attribute: (_) @name)) @reference.call

(attribute object: (_) @qualifier attribute: (_) @name) @reference.value
(case_pattern (dotted_name (identifier) @qualifier . (identifier) @name .)) @reference.value
(class_pattern (dotted_name (identifier) @qualifier . (identifier) @name .)) @reference.value
; A plain name counts if an import or a definition of the file is what it means, and no variable.
(primary_expression/identifier) @name @reference.mention
[(dotted_name (identifier) @name) (list_splat (identifier) @name) (dictionary_splat (identifier) @name)] @reference.mention

(type [
  (identifier) @name
  (attribute object: (_) @qualifier attribute: (_) @name)
  (generic_type (identifier) @name)
  (subscript value: (attribute object: (_) @qualifier attribute: (_) @name))
]) @reference.type
; Types in quotes, since they are defined further down: `def parent(self) -> "Node | None"`.
(type (string (string_content) @name)) @reference.quoted
(type (_ (string (string_content) @name))) @reference.quoted
((call function: [(identifier) @_cast (attribute attribute: (identifier) @_cast)]
  arguments: (argument_list . (string (string_content) @name))) @reference.quoted
  (#eq? @_cast "cast"))
((keyword_argument name: (identifier) @_bound value: (string (string_content) @name)) @reference.quoted
  (#eq? @_bound "bound"))
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
