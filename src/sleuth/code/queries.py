"""Which nodes of each grammar are definitions and references? Captures are explained in `sleuth.code.languages`."""

from __future__ import annotations

_PYTHON = """
(class_definition) @def.class
(function_definition) @def.function
(module (expression_statement (assignment left: (identifier) @name) @def.constant))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @def.attribute)))
(module . (expression_statement (string) @doc))
(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
(class_definition superclasses: (argument_list [(identifier) (attribute)] @ref.base))
(call function: [(identifier) (attribute)] @ref.call)
(decorator [(identifier) (attribute)] @ref.name)
(argument_list (identifier) @ref.name)
(keyword_argument value: (identifier) @ref.name)
(type (identifier) @ref.name)
(type (generic_type (identifier) @ref.name))
(list (identifier) @ref.name)
(except_clause (identifier) @ref.name)
"""

_JAVASCRIPT = """
(class_declaration) @def.class
(class name: (_)) @def.class
(function_declaration) @def.function
(generator_function_declaration) @def.function
(method_definition) @def.method
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @def.method
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression)]) @def.function
(variable_declarator name: (identifier) value: (class)) @def.class
(program (lexical_declaration (variable_declarator name: (identifier)) @def.constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier)) @def.constant)))
(assignment_expression left: [(member_expression) (identifier)] @name
  right: [(arrow_function) (function_expression)]) @def.function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @def.method
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: (identifier) @_r arguments: (arguments (string)) (#eq? @_r "require")) @require
(class_heritage (_) @ref.base)
(call_expression function: [(identifier) (member_expression)] @ref.call)
(new_expression constructor: (_) @ref.new)
(arguments (identifier) @ref.name)
(jsx_opening_element name: (_) @ref.name)
(jsx_self_closing_element name: (_) @ref.name)
"""

_TYPESCRIPT = """
(class_declaration) @def.class
(abstract_class_declaration) @def.class
(interface_declaration) @def.interface
(type_alias_declaration) @def.type
(enum_declaration) @def.enum
(internal_module name: (_)) @def.module
(function_declaration) @def.function
(generator_function_declaration) @def.function
(function_signature) @def.function
(method_definition) @def.method
(abstract_method_signature) @def.method
(public_field_definition name: (_) value: [(arrow_function) (function_expression)]) @def.method
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression)]) @def.function
(program (lexical_declaration (variable_declarator name: (identifier)) @def.constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier)) @def.constant)))
(assignment_expression left: [(member_expression) (identifier)] @name
  right: [(arrow_function) (function_expression)]) @def.function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @def.method
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: (identifier) @_r arguments: (arguments (string)) (#eq? @_r "require")) @require
(extends_clause value: (_) @ref.base)
(implements_clause (_) @ref.base)
(extends_type_clause type: (_) @ref.base)
(call_expression function: [(identifier) (member_expression)] @ref.call)
(new_expression constructor: (_) @ref.new)
(arguments (identifier) @ref.name)
(type_annotation (type_identifier) @ref.name)
(type_arguments (type_identifier) @ref.name)
"""

_JSX = """
(jsx_opening_element name: (_) @ref.name)
(jsx_self_closing_element name: (_) @ref.name)
"""

_GO = """
(function_declaration) @def.function
(method_declaration) @def.method
(type_spec type: (struct_type)) @def.struct
(type_spec type: (interface_type)) @def.interface
(type_spec) @def.type
(type_alias) @def.type
(source_file (const_declaration (const_spec name: (identifier) @name) @def.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @def.constant))
(import_spec) @import
(call_expression function: [(identifier) (selector_expression)] @ref.call)
(composite_literal type: [(type_identifier) (qualified_type)] @ref.new)
(field_declaration !name type: [(type_identifier) (qualified_type) (pointer_type)] @ref.base)
(parameter_declaration type: [(type_identifier) (qualified_type)] @ref.name)
(pointer_type [(type_identifier) (qualified_type)] @ref.name)
(argument_list (identifier) @ref.name)
"""

_RUST = """
(function_item) @def.function
(function_signature_item) @def.function
(struct_item) @def.struct
(union_item) @def.struct
(enum_item) @def.enum
(trait_item) @def.trait
(impl_item) @def.impl
(mod_item) @def.module
(macro_definition) @def.macro
(const_item) @def.constant
(static_item) @def.constant
(type_item) @def.type
(use_declaration) @import
(impl_item trait: (_) @ref.base)
(trait_bounds (_) @ref.base)
(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @ref.call)
(call_expression function: (generic_function function: (_) @ref.call))
(macro_invocation macro: (_) @ref.call)
(struct_expression name: (_) @ref.new)
(parameter type: (type_identifier) @ref.name)
(reference_type type: (type_identifier) @ref.name)
(arguments (identifier) @ref.name)
"""

_JAVA = """
(class_declaration) @def.class
(interface_declaration) @def.interface
(annotation_type_declaration) @def.interface
(enum_declaration) @def.enum
(record_declaration) @def.class
(method_declaration) @def.method
(constructor_declaration) @def.method
(compact_constructor_declaration) @def.method
(field_declaration declarator: (variable_declarator name: (_) @name)) @def.attribute
(import_declaration) @import
(superclass (_) @ref.base)
(super_interfaces (type_list (_) @ref.base))
(extends_interfaces (type_list (_) @ref.base))
(method_invocation) @ref.call
(object_creation_expression type: (_) @ref.new)
(formal_parameter type: (type_identifier) @ref.name)
(local_variable_declaration type: (type_identifier) @ref.name)
(marker_annotation name: (_) @ref.name)
(annotation name: (_) @ref.name)
(method_reference (identifier) @ref.name)
(argument_list (identifier) @ref.name)
"""

_C = """
(function_definition) @def.function
(struct_specifier name: (_) body: (_)) @def.struct
(union_specifier name: (_) body: (_)) @def.struct
(enum_specifier name: (_) body: (_)) @def.enum
(type_definition declarator: (type_identifier) @name) @def.type
(preproc_function_def) @def.macro
(preproc_def) @def.constant
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @def.constant)
(preproc_include) @import
(call_expression function: [(identifier) (field_expression)] @ref.call)
(parameter_declaration type: (type_identifier) @ref.name)
(declaration type: (type_identifier) @ref.name)
(argument_list (identifier) @ref.name)
"""

_CPP = """
(function_definition) @def.function
(class_specifier name: (_) body: (_)) @def.class
(struct_specifier name: (_) body: (_)) @def.struct
(union_specifier name: (_) body: (_)) @def.struct
(enum_specifier name: (_) body: (_)) @def.enum
(namespace_definition) @def.module
(type_definition declarator: (type_identifier) @name) @def.type
(alias_declaration) @def.type
(preproc_function_def) @def.macro
(preproc_def) @def.constant
(preproc_include) @import
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @ref.base)
(call_expression function: [(identifier) (field_expression) (qualified_identifier)] @ref.call)
(new_expression type: (_) @ref.new)
(parameter_declaration type: (type_identifier) @ref.name)
(declaration type: (type_identifier) @ref.name)
(argument_list (identifier) @ref.name)
"""

_CSHARP = """
(class_declaration) @def.class
(interface_declaration) @def.interface
(struct_declaration) @def.struct
(enum_declaration) @def.enum
(record_declaration) @def.class
(namespace_declaration) @def.module
(delegate_declaration) @def.type
(method_declaration) @def.method
(constructor_declaration) @def.method
(property_declaration) @def.property
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @def.attribute
(using_directive) @import
(base_list (_) @ref.base)
(invocation_expression function: (_) @ref.call)
(object_creation_expression type: (_) @ref.new)
(parameter type: (identifier) @ref.name)
(attribute name: (_) @ref.name)
(argument (identifier) @ref.name)
"""

_RUBY = """
(module) @def.module
(class) @def.class
(method) @def.function
(singleton_method) @def.function
(assignment left: (constant) @name) @def.constant
(call method: (identifier) @_m arguments: (argument_list (string))
  (#any-of? @_m "require" "require_relative" "load" "autoload")) @import
(call method: (identifier) @_i arguments: (argument_list [(constant) (scope_resolution)] @ref.base)
  (#any-of? @_i "include" "extend" "prepend"))
(superclass (_) @ref.base)
(call) @ref.call
(argument_list (constant) @ref.name)
(argument_list (scope_resolution) @ref.name)
"""

_PHP = """
(class_declaration) @def.class
(interface_declaration) @def.interface
(trait_declaration) @def.trait
(enum_declaration) @def.enum
(function_definition) @def.function
(method_declaration) @def.method
(const_declaration (const_element (name) @name)) @def.constant
(namespace_use_declaration) @import
(base_clause (_) @ref.base)
(class_interface_clause (_) @ref.base)
(use_declaration (_) @ref.base)
(function_call_expression function: (_) @ref.call)
(member_call_expression) @ref.call
(scoped_call_expression) @ref.call
(object_creation_expression [(name) (qualified_name)] @ref.new)
"""

_KOTLIN = """
(class_declaration) @def.class
(object_declaration) @def.class
(companion_object) @def.class
(function_declaration) @def.function
(type_alias) @def.type
(source_file (property_declaration) @def.constant)
(import) @import
(delegation_specifier (user_type) @ref.base)
(delegation_specifier (constructor_invocation (user_type) @ref.base))
(call_expression . [(identifier) (navigation_expression)] @ref.call)
(annotation (user_type) @ref.name)
(parameter (user_type) @ref.name)
(value_argument (identifier) @ref.name)
"""

_SCALA = """
(class_definition) @def.class
(object_definition) @def.class
(trait_definition) @def.trait
(enum_definition) @def.enum
(function_definition) @def.function
(function_declaration) @def.function
(template_body (val_definition pattern: (identifier) @name) @def.attribute)
(type_definition) @def.type
(import_declaration) @import
(extends_clause (type_identifier) @ref.base)
(extends_clause (generic_type (type_identifier) @ref.base))
(call_expression function: [(identifier) (field_expression)] @ref.call)
(instance_expression (type_identifier) @ref.new)
(parameter type: (type_identifier) @ref.name)
(arguments (identifier) @ref.name)
"""

_BASH = """
(function_definition) @def.function
(program (variable_assignment name: (_) @name) @def.constant)
(command name: (command_name) @_s (#any-of? @_s "source" ".")) @import
(command name: (command_name) @ref.call)
"""

KINDS = (
    "class", "interface", "struct", "enum", "trait", "impl", "module", "function", "method", "property", "macro",
    "constant", "attribute", "type",
)  # fmt: skip
"""What definitions can be, as `extract.h` numbers them: first what holds members; the last three yield to others."""

CAPTURES = {
    name: bit
    for bit, names in enumerate([
        ("name",), ("doc",), ("import", "require"), ("ref.base",), ("ref.new",), ("ref.call",), ("ref.name",),
        *((f"def.{kind}",) for kind in KINDS),
    ])
    for name in names
}  # fmt: skip
"""Bits that nodes are marked with, by capture; as `extract.h` numbers them."""

QUERIES: dict[str, str] = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT + _JSX,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "c": _C,
    "cpp": _CPP,
    "csharp": _CSHARP,
    "ruby": _RUBY,
    "php": _PHP,
    "kotlin": _KOTLIN,
    "scala": _SCALA,
    "bash": _BASH,
}
