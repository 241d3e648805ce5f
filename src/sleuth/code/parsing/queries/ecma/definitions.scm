(class_declaration name: (_) @name body: (_) @body) @definition.class
(class name: (_) @name body: (_) @body) @definition.class
(function_declaration name: (_) @name body: (_) @body) @definition.function
(generator_function_declaration name: (_) @name body: (_) @body) @definition.function
(method_definition name: (_) @name body: (_) @body) @definition.method
(variable_declarator name: (identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.function
(assignment_expression left: [(member_expression) (identifier)] @name
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.function
(pair key: (property_identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method

(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)))

(export_statement declaration: (_) @wrapped) @wrapper
(export_statement value: (_) @wrapped) @wrapper
(program (lexical_declaration (variable_declarator) @wrapped) @wrapper)
(program (variable_declaration (variable_declarator) @wrapped) @wrapper)
(export_statement (lexical_declaration (variable_declarator) @wrapped) @wrapper)
(program (lexical_declaration (variable_declarator name:
  (object_pattern (shorthand_property_identifier_pattern) @name @definition.constant))))
(program (export_statement (lexical_declaration (variable_declarator name:
  (object_pattern (shorthand_property_identifier_pattern) @name @definition.constant)))))
