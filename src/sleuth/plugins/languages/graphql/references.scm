(implements_interfaces (named_type (name) @name)) @reference.inheritance
(fragment_spread (fragment_name (name) @name)) @reference.call
(named_type (name) @name) @reference.type
(directive (name) @name) @reference.value
