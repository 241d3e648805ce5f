(block
  (identifier) @_kind
  . (string_lit (template_literal) @scope)
  . (string_lit (template_literal) @name)
  (block_start) @body
  (#any-of? @_kind "resource" "data")) @definition.struct
(block
  (identifier) @_kind
  . (string_lit (template_literal) @name)
  (block_start) @body
  (#any-of? @_kind "module" "provider")) @definition.module
(block
  (identifier) @_kind
  . (string_lit (template_literal) @name)
  (block_start) @body
  (#any-of? @_kind "variable" "output")) @definition.property
((block (identifier) @_kind (body (attribute (identifier) @name) @definition.constant))
  (#eq? @_kind "locals"))
