; The parameters of a definition.
((call target: (identifier) @_keyword (arguments . [
    (call (arguments (identifier) @name))
    (call (arguments (_ (identifier) @name)))
    (binary_operator left: (call (arguments (identifier) @name)))
    (binary_operator left: (call (arguments (_ (identifier) @name))))
  ])) @binding.variable
  (#match? @_keyword "^def"))
(binary_operator left: (identifier) @name operator: "=") @binding.variable
(binary_operator left: (_ (identifier) @name) operator: "=") @binding.variable
(binary_operator left: (identifier) @name operator: "<-") @binding.variable
(binary_operator left: (_ (identifier) @name) operator: "<-") @binding.variable
(stab_clause left: (arguments (identifier) @name)) @binding.variable
(stab_clause left: (arguments (_ (identifier) @name))) @binding.variable
