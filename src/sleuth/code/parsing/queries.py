"""Which nodes of each grammar are definitions and references? Captures are explained in `languages.py`."""

from __future__ import annotations


def _quoted(words: str) -> str:
    return " ".join(f'"{word}"' for word in words.split())


_PYTHON = """
(class_definition) @def.class
(function_definition) @def.function
(module (expression_statement (assignment left: (identifier) @name) @def.constant))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @def.constant)
  (#not-any-of? @name "_"))
(module (expression_statement (assignment left: (tuple_pattern (identifier) @name)) @def.constant)
  (#not-any-of? @name "_"))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @def.attribute)))
(class_definition body:
  (block (expression_statement (assignment left: (pattern_list (identifier) @name)) @def.attribute)))
(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @def.type
(module . (expression_statement (string) @doc))
(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
(class_definition superclasses: (argument_list [(identifier) (attribute)] @ref.base))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @ref.base)))
(call function: [(identifier) (attribute)] @ref.call)
(decorator [(identifier) (attribute)] @ref.name)
(argument_list (identifier) @ref.name)
(keyword_argument value: (identifier) @ref.name)
(type [(identifier) (attribute)] @ref.name)
(type (generic_type (identifier) @ref.name))
(type (subscript value: (attribute) @ref.name))
(type (binary_operator [(identifier) (attribute)] @ref.name))
(type (binary_operator (binary_operator [(identifier) (attribute)] @ref.name)))
(type (binary_operator (binary_operator (binary_operator [(identifier) (attribute)] @ref.name))))
(type (binary_operator (subscript [(identifier) (attribute)] @ref.name)))
(type (binary_operator (binary_operator (subscript [(identifier) (attribute)] @ref.name))))
(call function: (identifier) @_c arguments: (argument_list (tuple [(identifier) (attribute)] @ref.name))
  (#any-of? @_c "isinstance" "issubclass"))
(list (identifier) @ref.name)
(except_clause (identifier) @ref.name)
(except_clause (tuple [(identifier) (attribute)] @ref.name))
(raise_statement [(identifier) (attribute)] @ref.name)
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
(binary_expression operator: "instanceof" right: [(identifier) (member_expression)] @ref.name)
(jsx_opening_element name: (_) @ref.name)
(jsx_self_closing_element name: (_) @ref.name)
"""

_TYPESCRIPT = """
(class_declaration) @def.class
(abstract_class_declaration) @def.class
(interface_declaration) @def.interface
(interface_body (method_signature) @def.method)
(interface_body (property_signature) @def.attribute)
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
(type_annotation [(type_identifier) (nested_type_identifier)] @ref.name)
(type_annotation (generic_type name: (type_identifier) @ref.name)
  (#not-any-of? @ref.name "Promise" "Array" "Map" "Set" "Record" "Partial" "Readonly"))
(type_arguments [(type_identifier) (nested_type_identifier)] @ref.name)
(union_type [(type_identifier) (nested_type_identifier)] @ref.name)
(intersection_type [(type_identifier) (nested_type_identifier)] @ref.name)
(array_type (type_identifier) @ref.name)
(as_expression (type_identifier) @ref.name)
(satisfies_expression (type_identifier) @ref.name)
(constraint (type_identifier) @ref.name)
(type_predicate type: (type_identifier) @ref.name)
(binary_expression operator: "instanceof" right: [(identifier) (member_expression)] @ref.name)
"""

_JSX = """
(jsx_opening_element name: (_) @ref.name)
(jsx_self_closing_element name: (_) @ref.name)
"""

_GO_TYPES = """
any bool byte error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr
"""
_GO_PLACES = (
    "function_declaration result:", "method_declaration result:", "parameter_declaration type:", "pointer_type",
    "variadic_parameter_declaration type:", "var_spec type:", "field_declaration name: (_) type:",
    "slice_type element:", "array_type element:", "map_type key:", "map_type value:", "channel_type value:",
    "type_assertion_expression type:", "generic_type type:", "type_elem", "type_constraint",
)  # fmt: skip
"""Where a type is used; those that the language has itself are left out, for every function has some."""

_GO = """
(function_declaration) @def.function
(method_declaration) @def.method
(type_spec type: (struct_type)) @def.struct
(type_spec type: (interface_type)) @def.interface
(type_spec type: (interface_type (method_elem) @def.method))
(type_spec) @def.type
(type_alias) @def.type
(source_file (const_declaration (const_spec name: (identifier) @name) @def.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @def.constant) (#not-any-of? @name "_"))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @def.constant))
  (#not-any-of? @name "_"))
(import_spec) @import
(call_expression function: [(identifier) (selector_expression)] @ref.call)
(composite_literal type: [(type_identifier) (qualified_type)] @ref.new)
(composite_literal type: (generic_type type: [(type_identifier) (qualified_type)] @ref.new))
(field_declaration !name type: [(type_identifier) (qualified_type) (pointer_type)] @ref.base)
(argument_list (identifier) @ref.name)
""" + "".join(
    f"({place} [(type_identifier) (qualified_type)] @ref.name (#not-any-of? @ref.name {_quoted(_GO_TYPES)}))\n"
    for place in _GO_PLACES
)

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
(trait_item bounds: (trait_bounds (_) @ref.base))
(trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @ref.name)
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
(constant_declaration declarator: (variable_declarator name: (_) @name)) @def.attribute
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
(type_definition declarator: [(type_identifier) @name (pointer_declarator (type_identifier) @name)]) @def.type
(preproc_function_def) @def.macro
(preproc_def) @def.constant
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @def.constant)
(preproc_include) @import
(call_expression function: [(identifier) (field_expression)] @ref.call)
(parameter_declaration type: (type_identifier) @ref.name)
(declaration type: (type_identifier) @ref.name)
(field_declaration type: (type_identifier) @ref.name)
(function_definition type: (type_identifier) @ref.name)
(type_descriptor type: (type_identifier) @ref.name)
(struct_specifier name: (type_identifier) @ref.name !body)
(union_specifier name: (type_identifier) @ref.name !body)
(enum_specifier name: (type_identifier) @ref.name !body)
(argument_list (identifier) @ref.name)
"""

_CPP = """
(function_definition) @def.function
(class_specifier name: (_) body: (_)) @def.class
(struct_specifier name: (_) body: (_)) @def.struct
(union_specifier name: (_) body: (_)) @def.struct
(enum_specifier name: (_) body: (_)) @def.enum
(namespace_definition) @def.module
(type_definition declarator: [(type_identifier) @name (pointer_declarator (type_identifier) @name)]) @def.type
(alias_declaration) @def.type
(preproc_function_def) @def.macro
(preproc_def) @def.constant
(preproc_include) @import
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @ref.base)
(call_expression function: [(identifier) (field_expression) (qualified_identifier)] @ref.call)
(call_expression function: (template_function name: (identifier) @ref.call))
(new_expression type: (_) @ref.new)
(parameter_declaration type: (type_identifier) @ref.name)
(declaration type: (type_identifier) @ref.name)
(declaration type: (template_type name: (type_identifier) @ref.name))
(field_declaration type: (type_identifier) @ref.name)
(function_definition type: (type_identifier) @ref.name)
(type_descriptor type: (type_identifier) @ref.name)
(struct_specifier name: (type_identifier) @ref.name !body)
(enum_specifier name: (type_identifier) @ref.name !body)
(argument_list (identifier) @ref.name)
"""

_CSHARP = """
(class_declaration) @def.class
(interface_declaration) @def.interface
(struct_declaration) @def.struct
(enum_declaration) @def.enum
(record_declaration) @def.class
(namespace_declaration) @def.module
(file_scoped_namespace_declaration) @def.module
(delegate_declaration) @def.type
(method_declaration) @def.method
(constructor_declaration) @def.method
(property_declaration) @def.property
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @def.attribute
(using_directive) @import
(base_list [(identifier) (qualified_name) (generic_name) (alias_qualified_name)] @ref.base)
(base_list (primary_constructor_base_type type: (_) @ref.base))
(invocation_expression function: (_) @ref.call)
(object_creation_expression type: (_) @ref.new)
(parameter type: [(identifier) (qualified_name)] @ref.name)
(parameter type: (generic_name (identifier) @ref.name))
(variable_declaration type: [(identifier) (qualified_name)] @ref.name)
(variable_declaration type: (generic_name (identifier) @ref.name))
(property_declaration type: [(identifier) (qualified_name)] @ref.name)
(property_declaration type: (generic_name (identifier) @ref.name))
(method_declaration returns: [(identifier) (qualified_name)] @ref.name)
(method_declaration returns: (generic_name (identifier) @ref.name))
(type_argument_list [(identifier) (qualified_name)] @ref.name)
(nullable_type type: (identifier) @ref.name)
(array_type type: (identifier) @ref.name)
(typeof_expression type: [(identifier) (qualified_name)] @ref.name)
(cast_expression type: (identifier) @ref.name)
(as_expression right: (identifier) @ref.name)
(is_expression right: (identifier) @ref.name)
(declaration_pattern type: (identifier) @ref.name)
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
(named_type [(name) (qualified_name)] @ref.name (#not-any-of? @ref.name "self" "static" "parent"))
(class_constant_access_expression . [(name) (qualified_name)] @ref.name)
(binary_expression operator: "instanceof" right: [(name) (qualified_name)] @ref.name)
"""

_KOTLIN = """
(class_declaration "class") @def.class
(class_declaration "interface") @def.interface
(class_declaration (enum_class_body)) @def.enum
(object_declaration) @def.class
(companion_object) @def.class
(function_declaration) @def.function
(type_alias) @def.type
(source_file (property_declaration (variable_declaration (identifier) @name)) @def.constant)
(source_file
  (property_declaration (multi_variable_declaration (variable_declaration (identifier) @name))) @def.constant)
(class_body (property_declaration (variable_declaration (identifier) @name)) @def.attribute)
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
(package_object) @def.class
(given_definition name: (_) body: (with_template_body)) @def.class
(given_definition name: (_)) @def.constant
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
(program (declaration_command (variable_assignment name: (_) @name)) @def.constant)
(command name: (command_name) @_s (#any-of? @_s "source" ".")) @import
(command name: (command_name) @ref.call)
"""

KINDS = (
    "class", "interface", "struct", "enum", "trait", "impl", "module", "function", "method", "property", "macro",
    "constant", "attribute", "type",
)  # fmt: skip
"""What definitions can be, as `extract.h` numbers them: first what holds members; the last three yield to others."""

CONTAINERS = frozenset(KINDS[: KINDS.index("function")])
"""The kinds that hold members."""

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
