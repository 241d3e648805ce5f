"""Reads short expressions and types: chains of names and calls, and the class that a type names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from sleuth.code.parsing.imports import split_outside

NO_CLASS: Final = frozenset(
    {"var", "auto", "val", "let", "any", "Any", "None", "object", "dynamic", "unknown"}
)
"""Types that say nothing of a class."""
_NAME: Final = re.compile(r"[$@#]?[^\W\d]\w*")
_PREFIX: Final = re.compile(r"(?:await|new|mut|move|try[?!]?)\b\s*|[&*(]\s*|type\(\s*")
_SEPARATOR: Final = re.compile(r"(?:\?\.|!!?\.|\.|::|->)\s*")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
STRING: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`]*`")
_CALLEE: Final = re.compile(
    r"(?P<new>new\s++)?(?:(?P<qualifier>.*)\.)?\s*+(?P<name>[\w$#]++)\s*+$", re.DOTALL
)
_TYPE_PREFIX: Final = re.compile(
    r"&?'\w+\s|[:\s&*?(\"']|(?:mut|dyn|impl|const|final|readonly|struct|in|out|ref)\b"
)
_TYPE: Final = re.compile(r"((?:[^\W\d][\w$]*(?:\.|::)|\$[\w$]+\.)*(?:[^\W\d]|\$\w)[\w$]*)\s*([\[<])?")
_WRAPPER_NAMES: Final = """
Optional Annotated ClassVar Final Type type Rc Arc Box Option Promise Awaitable Result Ref RefCell Mutex RwLock Task
ValueTask Lazy Coroutine Readonly Partial NonNullable unique_ptr shared_ptr Union ContextManager
"""
_WRAPPERS: Final = frozenset(_WRAPPER_NAMES.split())
"""Types that stand for the first of their arguments."""
_TABLE_NAMES: Final = """
dict Dict Mapping MutableMapping defaultdict DefaultDict OrderedDict Map HashMap BTreeMap Record map MutableMap
"""
_TABLES: Final = frozenset(_TABLE_NAMES.split())
"""Collections whose first argument is not what they hold."""
_OF_TABLES: Final = {
    "items": "list[tuple[{0}, {1}]]", "values": "list[{1}]", "keys": "list[{0}]", "get": "{1}", "pop": "{1}",
    "setdefault": "{1}", "copy": "dict[{0}, {1}]",
}  # fmt: skip
"""What methods of such collections return, with the types of key and value."""
_LISTS: Final = frozenset({"list", "List", "deque", "Deque", "set", "Set"})
OF_ELEMENTS: Final = frozenset({"next", "min", "max", "enumerate", "zip"})
"""Functions of Python that give elements of their arguments."""
_SAME: Final = "sorted reversed list tuple set frozenset iter copy deepcopy copy.copy copy.deepcopy"
_WITH_RULES: Final = OF_ELEMENTS | {*_SAME.split(), "property", "cast", "t.cast", "typing.cast"}
"""These, those that return what is like their first argument, properties, and casts."""
_DEFAULTING: Final = frozenset({"get", "setdefault", "pop"})
"""Methods of tables whose second argument is what they return without a value."""
_CALLED: Final = re.compile(r"([\w.]+)\(")
_MOST_VALUES: Final = 8
"""Values of a tuple or a list that have types."""
_EITHER: Final = re.compile(r"\bor\b|\|\||\?\?|\?:")
"""Separates two alternative values."""


class Step(NamedTuple):
    """A name of a chain, with whether it is called, and whether an element is taken of it."""

    name: str
    is_called: bool
    is_indexed: bool


def read_argument(text: str) -> tuple[str, str, str, int, int] | None:
    """Return where a parameter of a function that is an argument is, from the text before it: `new A<B>(x, (first, `.

    Returns:
        The qualifier and the name in the call, the role of that use, the position of the function among the
        arguments, and that of the parameter among those of the function; None for other text.
    """
    text = STRING.sub("''", text)
    places: list[int] = []  # of the open brackets
    commas: list[int] = []  # after each of them
    for at, sign in enumerate(text):
        if sign in "([{":
            places.append(at)
            commas.append(0)
        elif sign in ")]}" and places:
            places.pop()
            commas.pop()
        elif sign == "," and commas:
            commas[-1] += 1
    if not 0 < len(places) <= 2:
        return None
    position, parameter, *_ = (*commas, 0)
    callee = text[: places[0]].rstrip()
    if callee.endswith(">"):
        callee = callee[: callee.find("<")]
    match = _CALLEE.match(callee)
    if match is None:
        return None
    role = "instantiation" if match["new"] else "call"
    return (match["qualifier"] or "").strip(), match["name"], role, position, parameter


def parameters_of(signature: str) -> list[str]:
    """Return the text of each parameter of a signature or function type, with `⇒` for `=>`."""
    signature = signature.replace("=>", "⇒")
    at = 0
    while at < len(signature) and signature[at] != "(":
        at = after_bracket(signature, at) if signature[at] == "<" else at + 1
    if at == len(signature):
        return []
    return split_outside(signature[at + 1 : after_bracket(signature, at) - 1], ",")


def parameter_types(signature: str) -> list[str]:
    """Return the declared type of each parameter of a signature or function type, or ""."""
    parts = parameters_of(signature)
    types = [(split_outside(part, ":")[1:] or [""])[0].replace("⇒", "=>").strip() for part in parts]
    return types[1:] if parts and parts[0].strip().startswith("this:") else types


def function_type(text: str) -> str:
    """Return the function type among the alternatives of a type: `(a: A) => void` of `((a: A) => void) | null`."""
    for part in split_outside(text.replace("=>", "⇒"), "|"):
        bare = part.strip()
        while bare.startswith("("):
            end = after_bracket(bare, 0)
            if bare[end:].lstrip().startswith("⇒"):
                return bare.replace("⇒", "=>")
            bare = bare[1 : end - 1].strip()
    return ""


def alternatives_of(text: str) -> list[str]:
    """Return the values that an expression may have: `a` and `b` for `a or b`, `x ? a : b` and `a if x else b`."""
    then, _, tail = text.partition(" if ")
    _, choice, alternative = tail.partition(" else ")
    if not choice:
        _, choice, tail = text.partition(" ? ")
        then, choice, alternative = tail.partition(" : ") if choice else ("", "", "")
    return alternatives_of(then) + alternatives_of(alternative) if choice else _EITHER.split(text)


def type_arguments(text: str, name: str) -> list[str]:
    """Return the arguments that a type gives to the class of a name: `A` and `B[]` for `Map<A, B[]>`."""
    text = text.replace("=>", "⇒")
    at = _end_of_word(text, name)
    if text[at : at + 1] not in ("<", "["):
        return []
    inside = text[at + 1 : after_bracket(text, at) - 1]
    return [part.strip().replace("⇒", "=>") for part in split_outside(inside, ",")]


def type_parameters(signature: str, name: str) -> list[str]:
    """Return the type parameters of a function of C# or Kotlin: `T` of `Name<T>(` and of `fun <T> T.name(`."""
    texts = type_arguments(signature.replace("fun <", "fun<"), "fun") or type_arguments(signature, name)
    return [re.split(r"\W", text, maxsplit=1)[0] for text in texts]


def bounds_of(text: str) -> list[str]:
    """Return the parts of a type that names several: `A` and `B<C>` of `impl A + B<C>`."""
    if "+" not in text:
        return [text]
    return [part.strip() for part in split_outside(text.replace("->", "⇒"), "+") if part.strip()]


def heritage_of(signature: str, name: str) -> str:
    """Return what follows the name and the type parameters of a class in its signature: its bases."""
    at = _end_of_word(signature, name)
    return signature[after_bracket(signature, at) if signature[at : at + 1] in ("<", "[") else at :]


def _end_of_word(text: str, word: str) -> int:
    """Return the place after the first use of a word, or the end of the text."""
    at = text.find(word)
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_"):
        at = text.find(word, at + 1)
    return at + len(word) if at >= 0 else len(text)


def field_of(text: str, name: str) -> str:
    """Return the type of a field of an object type, `{ name: Type; other?: Type }`, or ""."""
    text = text.lstrip(": ")
    fields = text[1 : after_bracket(text, 0) - 1] if text.startswith("{") else ""
    fields = fields.replace("=>", "⇒").replace("\n", ";")
    for line in split_outside(fields, ";"):
        for part in split_outside(line, ","):
            field, _, field_type = part.partition(":")
            if field.strip().removeprefix("readonly ").rstrip("?") == name:
                return field_type.strip().replace("⇒", "=>")
    return ""


def read_chain(text: str) -> list[Step]:
    """Return the names of an expression such as `new A(x).b[0].c()`; [] for an expression that is no such chain."""
    text, at = text.strip(), 0
    while prefix_match := _PREFIX.match(text, at):
        at = prefix_match.end()
    steps: list[Step] = []
    while name_match := _NAME.match(text, at):
        at = name_match.end()
        is_called = is_indexed = False
        while at < len(text):
            body = len(text) - len(text[at:].lstrip())
            if text[body : body + 1] in ("(", "{"):  # as in `a (b)`, `A { b: 1 }` and `apply { b() }`
                at = body
            end = after_bracket(text, at) if text[at] in _CLOSING else at + 1
            has_type_arguments = text[at] == "<" and text[end : end + 1] in ("(", "{")
            is_separator = text[at] in "?!" and _SEPARATOR.match(text, at)
            if is_separator or not (text[at] in "([{?!)" or has_type_arguments):
                break
            is_called = is_called or text[at] in "({"
            # `Box[int]()` is an object of a class with type arguments, and no element of it.
            is_indexed = text[at] == "[" or (is_indexed and not (is_called and name_match[0][0].isupper()))
            at = end
        steps.append(Step(name_match[0], is_called, is_indexed))
        at = len(text) - len(text[at:].lstrip())
        separator_match = _SEPARATOR.match(text, at)
        if separator_match is None:
            return steps if not text[at:].strip(" )") else []
        at = separator_match.end()
        if text[at : at + 1] == "<":  # `collect::<Vec<_>>()`
            at = after_bracket(text, at)
    return []


def after_bracket(text: str, at: int) -> int:
    """Return where the bracket that opens at a place is closed; the end of the text where it is cut off."""
    opening, depth = text[at], 0
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == _CLOSING[opening])
        if not depth:
            return place + 1
    return len(text)


def type_name(text: str) -> str:
    """Return the class that a type names: `Foo` for `Foo | None`, `Optional[Foo]` and `&mut Foo`, "" for `Foo[]`."""
    for part in text.split("|"):
        bare = _bare_type(part)
        match = _TYPE.match(bare)
        if match is None or bare[match.end() :].lstrip().startswith("[") or match[1] in NO_CLASS:
            continue
        class_name = re.split(r"\.|::", match[1])[-1]
        if match[2] and class_name in _WRAPPERS:
            inner = type_name(bare[match.end() :])
            if inner:
                return inner
            continue
        if match[2] == "[" and bare[match.end() :].startswith("]"):
            continue
        return match[1]
    return ""


def wrapper_of(text: str) -> str:
    """Return the name before the arguments of a type that may stand for the first of them, `Result` of `Result[A]`."""
    match = _TYPE.match(_bare_type(text))
    return match[1] if match and match[2] and re.split(r"\.|::", match[1])[-1] in _WRAPPERS else ""


def simple_name(text: str) -> str:
    """Return the last part of the class that a type names, with `[]` for an array; `Function` for `(A) -> B`."""
    if "->" in text:
        return "Function"
    name = re.split(r"\.|::", type_name(text.replace("[]", "")))[-1]
    return f"{name}[]" if text.rstrip().endswith("[]") else name


def element_of(text: str, *, has_keys: bool = False) -> str:
    """Return the type of the elements of a collection, given its type: `A` for `list[A]`, `[]A` and `A[]`; or "".

    Args:
        has_keys: whether the elements of a table, such as `dict[A, B]`, are its keys; else "" is returned for it.
    """
    bare = _bare_type(text)
    if bare.startswith("[]"):
        return bare[2:]
    if bare.rstrip().endswith("[]"):
        return bare.rstrip()[:-2]
    name, arguments = _collection(bare)
    return "" if name in _TABLES and not has_keys else arguments[0]


def item_of(text: str) -> str:
    """Return the type of `x[key]`, given that of `x`: the value of a table, or else an element; or ""."""
    name, arguments = _collection(_bare_type(text))
    if name not in _TABLES or len(arguments) != 2:
        return element_of(text)
    _, value = arguments
    return value.strip()


def entry_of(text: str, pattern: str, name: str) -> str:
    """Return the type of a name in a pattern such as `key, value` that takes a value of a type apart, or ""."""
    pattern = pattern.strip()
    if pattern.startswith("(") and after_bracket(pattern, 0) == len(pattern):
        pattern = pattern[1:-1]
    parts = split_outside(pattern, ",")
    kind, arguments = _collection(_bare_type(text))
    if kind in ("tuple", "Tuple") and len(arguments) == len(parts):
        for part, argument in zip(parts, arguments, strict=True):
            if part.strip() == name:
                return argument.strip()
            if "," in part and (inner_type := entry_of(argument, part, name)):
                return inner_type
    return ""


def returned_by_table(text: str, method: str) -> str:
    """Return the type that a method of a table, such as `dict[K, V]` or `Map<K, V>`, returns; "" if it is unknown."""
    name, arguments = _collection(_bare_type(text))
    if name in _LISTS and method in ("pop", "popleft"):
        return arguments[0].strip()
    form = _OF_TABLES.get(method, "") if name in _TABLES and len(arguments) == 2 else ""
    return form.format(*(argument.strip() for argument in arguments)) if form else ""


def _collection(bare: str) -> tuple[str, list[str]]:
    """Return the last name of a type and its arguments: `Map`, [`A`, `B`] for `a.Map<A, B>`; "", [""] without any."""
    match = _TYPE.match(bare)
    if match is None or not match[2]:
        return "", [""]
    end = after_bracket(bare, match.end() - 1)
    return re.split(r"\.|::", match[1])[-1], split_outside(bare[match.end() : end - 1], ",")


@lru_cache(20_000)
def form_of(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the form of an expression of Python with the values in it, ("", ()) for an expression of no known form.

    A list, a set and a generator have the form `[`, a table `{`, a tuple `(`. A call has the name of its function
    if that has a rule, and its first argument as value; `cast` has the type, `get` the default, `zip` all arguments.
    """
    text = text if "cast(" in text else STRING.sub("''", " ".join(text.split()))
    match = _CALLED.match(text)
    at, name = (match.end() - 1, match[1]) if match else (0, "")
    is_closed = text[at : at + 1] in ("(", "[", "{") and after_bracket(text, at) == len(text)
    inside = text[at + 1 : -1] if is_closed else text
    values = [value.strip() for value in split_outside(inside, ",") if value.strip()]
    if name and is_closed:
        has_default = name == "getattr" or name.rpartition(".")[2] in _DEFAULTING
        required_count = 2 if has_default or name.endswith("cast") else 1
        if len(values) < required_count or not (has_default or name in _WITH_RULES):
            return "", ()
        return name, tuple(values if name == "zip" else values[-1:] if has_default else values[:1])
    form = text[:1] if is_closed else "("
    element, loop, _ = inside.partition(" for ")
    if loop and element.count("(") == element.count(")"):
        values, form = [element], "{" if form == "{" else "["
    if form == "{":
        pairs = [split_outside(value, ":")[1:] for value in values]
        values, form = ([pair[0] for pair in pairs if pair], "{") if any(pairs) else (values, "[")
    if any(value.startswith("*") for value in values):
        values, form = [value for value in values if not value.startswith("*")], "["
    if not values or (form == "(" and not 1 < len(values) <= _MOST_VALUES):
        return "", ()
    return form, tuple(values[:_MOST_VALUES])


def _bare_type(text: str) -> str:
    """Return a type without the signs and words before it."""
    at = 0
    while prefix_match := _TYPE_PREFIX.match(text, at):
        at = prefix_match.end()
    return text[at:].rstrip(" \"'?!)")
