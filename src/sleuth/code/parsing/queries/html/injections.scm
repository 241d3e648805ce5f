; The last pattern that fits says in which language a part is written.
(script_element (raw_text) @injection.javascript)
((script_element
  (start_tag (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @_value)))
  (raw_text) @injection.none)
  (#eq? @_attribute "type") (#not-match? @_value "^(module|(text|application)/javascript)$"))
((script_element
  (start_tag (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @_value)))
  (raw_text) @injection.typescript)
  (#any-of? @_attribute "lang" "type") (#any-of? @_value "ts" "typescript" "text/typescript"))
((script_element
  (start_tag (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @_value)))
  (raw_text) @injection.tsx)
  (#eq? @_attribute "lang") (#any-of? @_value "tsx" "jsx"))
(style_element (raw_text) @injection.css)
