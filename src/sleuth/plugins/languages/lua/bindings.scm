[
  (parameters name: (identifier) @name)
  (variable_declaration (assignment_statement (variable_list name: (identifier) @name)))
  (variable_declaration (variable_list name: (identifier) @name))
  (for_numeric_clause name: (identifier) @name)
  (for_generic_clause (variable_list name: (identifier) @name))
] @binding.variable
