; inherits: html
; A tag that begins in upper case is a component.
(start_tag (tag_name) @name (#match? @name "^[A-Z]")) @reference.value
(self_closing_tag (tag_name) @name (#match? @name "^[A-Z]")) @reference.value
