(call method: (identifier) @_requires arguments: (argument_list (string))
  (#any-of? @_requires "require" "require_relative" "load" "autoload")) @import
