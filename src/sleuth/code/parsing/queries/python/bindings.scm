(parameters (identifier) @name) @binding.variable
(lambda_parameters (identifier) @name) @binding.variable
(typed_parameter . (identifier) @name type: (type) @type) @binding.variable
(default_parameter name: (identifier) @name value: [(call) (identifier) (attribute)]? @value) @binding.variable
; `*args` and `**kwargs`, whose types begin with these stars.
(parameters [(list_splat_pattern (identifier) @name) (dictionary_splat_pattern (identifier) @name)] @type) @binding.variable
(parameters
  (typed_parameter [(list_splat_pattern (identifier) @name) (dictionary_splat_pattern (identifier) @name)]) @type
) @binding.variable
(typed_default_parameter name: (identifier) @name type: (type) @type) @binding.variable
; A string, a number or an empty collection tells nothing of a class of the repository.
(assignment left: (identifier) @name type: (type)? @type right: [
  (call) (identifier) (attribute) (await) (subscript) (parenthesized_expression) (boolean_operator) (conditional_expression)
  (list (_)) (tuple (_)) (set) (dictionary (_)) (expression_list) (list_comprehension) (dictionary_comprehension)
  (set_comprehension) (generator_expression)
]? @value) @binding.variable
(assignment
  left: (attribute object: (identifier) @_self attribute: (identifier) @name)
  type: (type)? @type right: [
    (call) (identifier) (attribute) (await) (subscript) (parenthesized_expression) (boolean_operator) (conditional_expression)
    (list (_)) (tuple (_)) (set) (dictionary (_)) (expression_list) (list_comprehension) (dictionary_comprehension)
    (set_comprehension) (generator_expression)
  ]? @value
  (#eq? @_self "self")) @binding.member
(augmented_assignment left: (identifier) @name) @binding.variable
(named_expression name: (identifier) @name value: (_) @value) @binding.variable
(with_item value: (as_pattern . (_) @value alias: (as_pattern_target (identifier) @name))) @binding.entered
(except_clause value: (as_pattern . (_) @type alias: (as_pattern_target (identifier) @name))) @binding.variable
(for_statement left: (identifier) @name right: (_) @value) @binding.element
(for_in_clause left: (identifier) @name right: (_) @value) @binding.element
(assignment left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)] @type
  right: [(call) (identifier) (attribute) (await) (subscript) (tuple) (expression_list)] @value) @binding.part
(for_statement left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)] @type right: (_) @value) @binding.entry
(for_in_clause left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)] @type right: (_) @value) @binding.entry
(for_statement left: (pattern_list (tuple_pattern (identifier) @name)) @type right: (_) @value) @binding.entry
(for_in_clause left: (pattern_list (tuple_pattern (identifier) @name)) @type right: (_) @value) @binding.entry
((call function: (identifier) @_check arguments: (argument_list . (identifier) @name . (_) @type)) @binding.narrowed
  (#eq? @_check "isinstance"))
[
  (as_pattern_target (identifier) @name)
  (as_pattern_target (tuple (identifier) @name))
  (as_pattern_target (list (identifier) @name))
  (pattern_list (identifier) @name)
  (tuple_pattern (identifier) @name)
  (list_pattern (identifier) @name)
  (list_splat_pattern (identifier) @name)
  (dictionary_splat_pattern (identifier) @name)
  (case_pattern (dotted_name . (identifier) @name .))
  (keyword_pattern (identifier) (dotted_name . (identifier) @name .))
  (splat_pattern (identifier) @name)
  (as_pattern (case_pattern) (identifier) @name .)
] @binding.variable
[(global_statement (identifier) @name) (nonlocal_statement (identifier) @name)] @binding.outer
(function_definition name: (identifier) @name return_type: (type) @type) @binding.variable
; What a function returns and yields, under these words; `yield from` has the type `from`.
(return_statement "return" @name [
  (call) (identifier) (attribute) (await) (subscript) (parenthesized_expression) (boolean_operator) (conditional_expression)
  (list (_)) (tuple (_)) (set) (dictionary (_)) (expression_list) (list_comprehension) (dictionary_comprehension)
  (set_comprehension) (generator_expression)
] @value) @binding.variable
(yield "yield" @name (_) @value) @binding.variable
(yield "yield" @name "from" @type) @binding.variable
