((start_tag (attribute (attribute_name) @_attribute [
  (quoted_attribute_value (attribute_value) @name)
  (attribute_value) @name
])) @definition.constant (#eq? @_attribute "id") (#match? @name "^[^\\s{<]+$"))
((self_closing_tag (attribute (attribute_name) @_attribute [
  (quoted_attribute_value (attribute_value) @name)
  (attribute_value) @name
])) @definition.constant (#eq? @_attribute "id") (#match? @name "^[^\\s{<]+$"))
