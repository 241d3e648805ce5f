(import_statement) @import
(export_statement source: (string)) @import
((call_expression function: (identifier) @_require arguments: (arguments (string))) @import
  (#eq? @_require "require"))
(variable_declarator
  value: (call_expression function: (identifier) @_require arguments: (arguments (string)))
  (#eq? @_require "require")) @import
