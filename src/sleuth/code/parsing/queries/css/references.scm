((call_expression (function_name) @name) @reference.call (#not-match? @name "^(url|rgba?|hsla?|calc|var)$"))
((call_expression (function_name) @_var (arguments . (plain_value) @name)) @reference.value (#eq? @_var "var"))
((declaration (property_name) @_property (plain_value) @name) @reference.value
  (#any-of? @_property "animation" "animation-name"))
