((function_call name: (identifier) @_name arguments: (arguments . (string))) @import
  (#any-of? @_name "require" "dofile"))
((assignment_statement
  (variable_list (identifier))
  (expression_list (function_call name: (identifier) @_name arguments: (arguments . (string))))) @import
  (#eq? @_name "require"))
