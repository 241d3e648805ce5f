"""The kinds of definitions and the roles of references, with the numbers that the tables hold."""

from __future__ import annotations

from typing import Final

KINDS: Final = (
    "class", "interface", "struct", "enum", "trait", "impl", "module", "function", "method", "property", "macro",
    "constant", "attribute", "type",
)  # fmt: skip
"""What a definition can be, by number."""

CONTAINERS: Final = frozenset(KINDS[: KINDS.index("function")])
"""The kinds that hold members."""

YIELDING: Final = frozenset({"constant", "attribute", "type"})
"""The kinds that give way to another definition of the same text: `const f = () => {}` is a function."""

PRECEDENCE: Final = (
    "enum", "class", "interface", "struct", "trait", "impl", "module", "method", "function", "property", "macro",
)  # fmt: skip
"""The first of these wins where several patterns define the same text: `enum class` is an enum."""

ROLES: Final = ("inheritance", "instantiation", "call", "reference")
"""What a reference can do, by number; the first of these wins where several patterns find the same name."""

PARSED_ROLES: Final = (*ROLES, "quoted", "elsewhere", "mention")
"""What a query can find, by number. Kinds after `ROLES` become references or are left out: see `references`."""

ROLE_NUMBERS: Final = {
    f"reference.{name}": PARSED_ROLES.index(role)
    for name, role in (
        ("type", "reference"), ("value", "reference"), *((role, role) for role in PARSED_ROLES if role != "reference"),
    )
}  # fmt: skip
"""The number of the role that each capture of a query stands for."""

BINDINGS: Final = (
    "variable", "assigned", "element", "member", "outer", "argument", "generic", "part", "entry", "narrowed",
    "item", "keyed", "entered",
)  # fmt: skip
"""What a binding can be, by number: a variable or parameter; a value for a variable that is declared elsewhere; an
element of a value; a member of the object around; a name that the function takes from outside; a parameter of a
function that is an argument, whose value is the call up to the name; a type parameter, whose type is its bound;
the member of this name of a value, or with a pattern as its type the value at its place there; the same of an
element of a value; a variable that a test says the class of; two kinds of older indexes, which nothing reads; what
`with` gives of a value."""

CHUNK_KINDS: Final = ("definition", "outline", "part", "module", "text")
"""What a chunk can be, by number; an outline is a container without its members."""

BINDING_NUMBERS: Final = {f"binding.{name}": number for number, name in enumerate(BINDINGS)}
"""The number of the binding that each capture of a query stands for."""
