((call target: (identifier) @_keyword (arguments)) @import
  (#any-of? @_keyword "alias" "import" "require" "use"))
