"""Reads import statements: what each brings into a file, in each language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Import(NamedTuple):
    """One name that an import brings in.

    Attributes:
        module: the path as written, such as `..models`, `./x`, `a.b`, `fmt`.
        name: what is taken out of it; "" where the module itself is, "*" where everything is.
        alias: what it is called in this file.
    """

    module: str
    name: str
    alias: str
    line: int = 0


_JAVA_NAMES = re.compile(r"import (?:static )?[\w.]+\.(\w+|\*);\n")


def imported_names(statements: list[bytes], language: str) -> list[str]:
    """Return what statements import, or from where: of each of `imports_of` the name, or the module without one."""
    if language == "java":
        names = _JAVA_NAMES.findall(b"\n".join([*statements, b""]).decode("utf-8", "replace"))
        if len(names) == len(statements):
            return names
    texts = [statement.decode("utf-8", "replace") for statement in statements]
    return [item.name or item.module for text in texts for item in imports_of(text, language)]


def imports_of(text: str, language: str) -> list[Import]:
    """Return the names that one import statement binds."""
    reader = _READERS.get(language)
    return [] if reader is None else list(reader(text))


def _aliases(text: str, word: str) -> Iterator[tuple[str, str]]:
    """Parse `a, b as c` into (a, a), (b, c)."""
    for part in text.split(","):
        match part.split():
            case [name, *_, before, alias] if before == word:
                yield name, alias
            case ["type", *_, alias]:
                yield alias, alias
            case [name, *rest]:
                yield name, rest[-1] if rest else name


def _python(text: str) -> Iterator[Import]:
    text = re.sub(r"#[^\n]*|\\\n", " ", text)
    match = re.match(r"\s*+from\s++(\.*+(?:\s++(?!import\b))?+[\w.]*+)\s++import\s++\(?([^)]*)", text, re.S)
    if match:
        module = match[1].replace(" ", "")
        for name, alias in _aliases(match[2], "as"):
            yield Import(module, name, alias)
        return
    for name, alias in _aliases(re.sub(r"^\s*import\s+", "", text), "as"):
        yield Import(name, "", alias)


def _javascript(text: str) -> Iterator[Import]:
    source_match = re.search(r"""(?:from|require\s*\(|import)\s*['"`]([^'"`]+)['"`]""", text)
    if source_match is None:
        return
    module = source_match[1]
    head = text[: source_match.start()].replace("\n", " ")
    required_match = re.search(r"(\{[^{}]*+\}|(?<![\w$])[\w$]++)\s*+=\s*+$", head)
    if "require" in source_match[0]:
        head = required_match[1].replace(":", " as ") if required_match else ""
    head = re.sub(r"^\s*(?:import|export|const|let|var)\b", "", head)
    head = re.sub(r"^\s*type\s+(?=[\w{])", "", head)
    named_match = re.search(r"\{([^{}]*)\}", head)
    has_names = False
    if named_match:
        for name, alias in _aliases(named_match[1], "as"):
            has_names = True
            yield Import(module, name, alias)
    rest = re.sub(r"\{[^{}]*\}", "", head)
    star_match = re.search(r"\*(?:\s*as\s+([\w$]+))?", rest)
    if star_match:
        has_names = True
        yield Import(module, "" if star_match[1] else "*", star_match[1] or "*")
    default_match = re.match(r"\s*([\w$]+)", re.sub(r"\*(?:\s*as\s+[\w$]+)?", "", rest))
    if default_match:
        has_names = True
        yield Import(module, "default", default_match[1])
    if not has_names:
        yield Import(module, "", "")


def _go(text: str) -> Iterator[Import]:
    match = re.search(r'(?:(?<![\w.])([\w.]++)\s++)?["`]([^"`]+)["`]', text)
    if match:
        yield Import(match[2], "", match[1] or re.sub(r"/v\d+$", "", match[2]).rpartition("/")[2])


def _rust(text: str) -> Iterator[Import]:
    body = re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+|;\s*$", "", text)
    yield from _rust_tree("", " ".join(body.split()))


def _rust_tree(prefix: str, text: str) -> Iterator[Import]:
    head, brace, rest = text.partition("{")
    if brace:
        path = "::".join(p for p in (prefix, head.strip().strip(":")) if p)
        for part in _split_braces(rest[: rest.rfind("}")]):
            yield from _rust_tree(path, part.strip())
        return
    path, _, alias = text.partition(" as ")
    parts = [p for p in path.strip().split("::") if p]
    if parts == ["self"] and prefix:
        prefix, _, name = prefix.rpartition("::")
        parts = [name]
    if parts:
        module = "::".join(p for p in (prefix, *parts[:-1]) if p)
        yield Import(module, parts[-1], alias.strip() or parts[-1])


def _split_braces(text: str) -> Iterator[str]:
    depth = start = 0
    for i, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


_WHOLE_PATH = re.compile(r"import (?:static )?([\w.]+)\.(\w+);$")


def _dotted(text: str) -> Iterator[Import]:
    """Java, Kotlin, C#: the last part of a dotted path."""
    whole_match = _WHOLE_PATH.match(text)
    if whole_match is not None:
        module, name = whole_match.groups()
        yield Import(module, name, name)
        return
    body = re.sub(r"^\s*(?:global\s+)?(?:import|using)\s+(?:static\s+)?|;\s*$", "", text).strip()
    alias_match = re.match(r"(\w+)\s*=\s*([\w.]+)$", body)
    path, _, renamed = (alias_match[2], "", alias_match[1]) if alias_match else body.partition(" as ")
    module, _, name = path.strip().rpartition(".")
    yield Import(module, name, renamed.strip() or name)


def _csharp(text: str) -> Iterator[Import]:
    for item in _dotted(text):
        path = f"{item.module}.{item.name}".strip(".")
        yield Import(path, "*" if item.alias == item.name else "", item.alias)


def _scala(text: str) -> Iterator[Import]:
    """Read `import a.b.C`, `import a.b._` and `import a.b.{C, D => E}`."""
    body = re.sub(r"^\s*import\s+", "", " ".join(text.split()))
    match = re.match(r"([\w.]+)\.\{(.*)\}", body)
    if match:
        for part in match[2].split(","):
            name, _, alias = part.replace(" as ", "=>").partition("=>")
            if name.strip():
                yield Import(match[1], name.strip(), alias.strip() or name.strip())
        return
    module, _, name = body.rpartition(".")
    yield Import(module, "*" if name in ("_", "*") else name, name)


def _include(text: str) -> Iterator[Import]:
    match = re.search(r"""["<]([^"<>]+)[">]""", text)
    if match:
        yield Import(match[1], "*", "*")


def _ruby(text: str) -> Iterator[Import]:
    match = re.match(r"""\s*(\w+)[\s(]+(?::(\w+)\s*,\s*)?['"]([^'"]+)['"]""", text)
    if match:
        yield Import(
            ("./" if match[1] == "require_relative" else "") + match[3], match[2] or "*", match[2] or "*"
        )


def _php(text: str) -> Iterator[Import]:
    body = re.sub(r"^\s*use\s+(?:function\s+|const\s+)?|;\s*$", "", " ".join(text.split()))
    prefix, brace, group = body.partition("{")
    for name, alias in _aliases(group.rstrip("} ") if brace else body, "as"):
        module, _, last = (prefix.strip() + name if brace else name).rpartition("\\")
        yield Import(module, last, alias.rpartition("\\")[2])


_SOURCED = re.compile(
    r"""(?:(?<=\s)|(?<=\s["'])|(?<=[)}])|(?:(?<=\s\$)|(?<=\s["']\$))\w++)/?+((?<![\w$])[^\s"'$(){}`]++)["']*+$"""
)
"""The path in `source path`, without the folder that a variable or a command gives."""


def _bash(text: str) -> Iterator[Import]:
    match = _SOURCED.search(text)
    if match:
        yield Import(match[1], "*", "*")


def _lua(text: str) -> Iterator[Import]:
    match = re.search(
        r"""(?:(?<!\w)(\w++)\s*+=\s*+)?(?:require|dofile)\s*+(?:\(\s*+)?['"]([^'"]+)['"]""", text
    )
    if match:
        yield Import(match[2], "", match[1] or match[2].rpartition(".")[2])


def _swift(text: str) -> Iterator[Import]:
    yield Import(text.rsplit(maxsplit=1)[-1], "*", "*")


def _elixir(text: str) -> Iterator[Import]:
    """Read `alias A.{B, C}`, `alias A.B, as: C`, `import A` and `use A`."""
    match = re.match(
        r"(\w++)\s*+(?:\(\s*+)?(\w++(?:\.\w++)*+)(?:\.\{([^}]*)\})?(?:\s*+,(?:.*\bas:\s*([\w.]+))?.*|\W*)$",
        text,
        re.S,
    )
    if match is None:
        return
    keyword, module, several, alias = match.groups()
    if several:
        for name in several.split(","):
            yield Import(f"{module}.{name.strip()}", "", name.strip())
    elif keyword == "import":
        yield Import(module, "*", "*")
    else:
        yield Import(module, "", alias or module.rpartition(".")[2])


def _dart(text: str) -> Iterator[Import]:
    match = re.search(r"""['"]([^'"]+)['"]([^;]*)""", text)
    if match is None:
        return
    module, rest = match.groups()
    alias_match = re.search(r"\bas\s+(\w+)", rest)
    shown_match = re.search(r"\bshow\s+([\w\s,]+)", re.split(r"\bhide\b", rest)[0])
    if alias_match:
        yield Import(module, "", alias_match[1])
    elif shown_match:
        for name, alias in _aliases(shown_match[1], "as"):
            yield Import(module, name, alias)
    else:
        yield Import(module, "*", "*")


def _css(text: str) -> Iterator[Import]:
    match = re.search(r"""["']([^"']+)["']|url\(\s*([^"')\s]+)""", text)
    if match:
        yield Import(match[1] or match[2], "*", "*")


_REMOTE = re.compile(r"\w+:|//|#|.*[{<]")


def _markup(text: str) -> Iterator[Import]:
    """HTML, Vue, Svelte: the attribute that names a file, or a statement of a script or a style."""
    attribute_match = re.match(r"""(?:src|href)\s*=\s*["']?([^"'?#]+)""", text)
    if attribute_match is None:
        yield from _css(text) if text.startswith("@") else _javascript(text)
    elif not _REMOTE.match(path := attribute_match[1].strip()):
        yield Import(path if path.startswith((".", "/")) else f"./{path}", "*", "*")


_READERS: dict[str, Callable[[str], Iterator[Import]]] = {
    "python": _python,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "go": _go,
    "rust": _rust,
    "java": _dotted,
    "kotlin": _dotted,
    "csharp": _csharp,
    "scala": _scala,
    "c": _include,
    "cpp": _include,
    "ruby": _ruby,
    "php": _php,
    "bash": _bash,
    "lua": _lua,
    "swift": _swift,
    "elixir": _elixir,
    "hcl": _include,
    "dart": _dart,
    "css": _css,
    "html": _markup,
    "vue": _markup,
    "svelte": _markup,
}
