(module name: (_) @name body: (_)? @body) @definition.module
(class name: (_) @name body: (_)? @body) @definition.class
(method name: (_) @name body: (_)? @body) @definition.function
(singleton_method name: (_) @name body: (_)? @body) @definition.function
(assignment left: (constant) @name) @definition.constant
