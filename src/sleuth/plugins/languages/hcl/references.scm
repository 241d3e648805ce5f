(function_call (identifier) @name) @reference.call
; `var.name`, `module.name`, `local.name`, and `aws_vpc.name` of a resource.
((expression . (variable_expr (identifier) @qualifier) . (get_attr (identifier) @name)) @reference.value
  (#not-eq? @qualifier "data"))
((expression
  . (variable_expr (identifier) @_data)
  . (get_attr (identifier) @qualifier)
  . (get_attr (identifier) @name)) @reference.value
  (#eq? @_data "data"))
