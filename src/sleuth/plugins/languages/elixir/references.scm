; Words of the language, and attributes such as `@doc`, are left out.
((call target: (identifier) @name) @reference.call
  (#not-match? @name "^(def[a-z]*|alias|import|require|use|(module|type)?doc|spec|typep?|impl|callback|case|cond|for|if|quote|receive|try|unless|unquote(_splicing)?|with)$"))
(call target: (dot left: (_) @qualifier right: (identifier) @name)) @reference.call
; A behaviour or protocol that a module takes part in.
(call target: (identifier) @_keyword (arguments . (alias) @name)
  (#any-of? @_keyword "use" "defimpl")) @reference.inheritance
(struct (alias) @name) @reference.instantiation
(arguments (alias) @name) @reference.value
