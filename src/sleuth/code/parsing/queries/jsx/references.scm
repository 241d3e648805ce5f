; A tag in lower case is one of HTML's.
(jsx_opening_element name: (identifier) @name (#not-match? @name "^[a-z]")) @reference.value
(jsx_closing_element name: (identifier) @name (#not-match? @name "^[a-z]")) @reference.value
(jsx_self_closing_element name: (identifier) @name (#not-match? @name "^[a-z]")) @reference.value
(jsx_opening_element name: (member_expression object: (_) @qualifier property: (_) @name)) @reference.value
(jsx_self_closing_element name: (member_expression object: (_) @qualifier property: (_) @name)) @reference.value
