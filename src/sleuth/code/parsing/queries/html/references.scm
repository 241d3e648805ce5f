; What is written in one attribute of several classes is no name.
((attribute (attribute_name) @_attribute [
  (quoted_attribute_value (attribute_value) @name)
  (attribute_value) @name
]) @reference.value
  (#any-of? @_attribute "class" "for" "form" "list" "aria-labelledby" "aria-describedby" "aria-controls")
  (#match? @name "^[^\\s{<]+$"))
