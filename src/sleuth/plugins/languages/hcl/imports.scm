((block
  (identifier) @_kind
  (body (attribute (identifier) @_key (expression (literal_value (string_lit)))) @import))
  (#eq? @_kind "module")
  (#eq? @_key "source"))
