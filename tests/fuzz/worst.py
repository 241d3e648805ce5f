"""The worst files that are known of each kind that the program reads itself, of any size."""

import random
from collections.abc import Callable

Maker = Callable[[int], bytes]


def _filled(unit: str | bytes, start: bytes = b"", end: bytes = b"") -> Maker:
    """Return what makes a file of one unit, repeated between a start and an end."""
    content = unit.encode() if isinstance(unit, str) else unit
    return lambda size: start + content * max(1, (size - len(start) - len(end)) // len(content)) + end


def _matter(unit: str | bytes, start: bytes = b"", mark: bytes = b"---") -> Maker:
    """Return what makes front matter of one unit; more than 64 KiB of it is not front matter."""
    inner = _filled(unit, start)
    return lambda size: mark + b"\n" + inner(min(size, 65_000)) + b"\n" + mark + b"\nx"


def _prefixed(size: int) -> bytes:
    """An object whose members all have a long path."""
    members = b",".join(b'"%d":1' % i for i in range(size // 24))
    return b'{"' + b"p" * (size // 2) + b'":{' + members + b"}}"


def _noise(low: int) -> Maker:
    return lambda size: bytes(random.Random(low).choices(range(low, 256), k=size))


TOML = b"+++"
WORST: dict[str, Maker] = {
    "long name.csv": lambda size: b"n" * (size // 2) + b"\n" + b"x\n" * (size // 4),
    "rows.csv": _filled("x\n", b"a\n"),
    "names.csv": lambda size: b",".join(b"%d" % i for i in range(size // 14)) + b"\n" + b"x," * (size // 4),
    "quotes.csv": _filled('"', b"a,b\n"),
    "cells.csv": _filled('"a""b",', b"a\n"),
    "open quote.csv": _filled("a\n", b'a\n"'),
    "odd bytes.csv": _filled(b"caf\xe9 and \x81,w\n", b"a,b\n"),
    "rows.tsv": _filled("x\ty\n", b"a\tb\n"),
    "long path.json": _prefixed,
    "members.json": _filled("1,", b"[", b"1]"),
    "nested lists.json": _filled("["),
    "nested objects.json": _filled('{"a":'),
    "digits.json": _filled("1", b"[", b"]"),
    "escapes.json": _filled("\\u00e9", b'["', b'"]'),
    "numbers.jsonl": _filled("1\n"),
    "empty.jsonl": _filled("{}\n"),
    "nested.jsonl": _filled("[" * 2_000 + "\n"),
    "one word.txt": _filled("w"),
    "sentences.txt": _filled("A. "),
    "blank lines.txt": _filled("\n", b"x", b"x"),
    "blanks.txt": _filled(" ", b"x", b"x"),
    "pages.txt": _filled("x\f"),
    "signs.txt": _filled("中文。"),
    "marks.txt": _filled("\u0301", b"a"),
    "noise.txt": _noise(1),
    "high noise.txt": _noise(128),
    "shift-jis.txt": _filled("日本語のテキスト。".encode("shift_jis")),
    "koi8-r.txt": _filled("Привет как дела. ".encode("koi8-r")),
    "odd bytes.txt": _filled(b"caf\xe9 and \x81 "),
    "utf-16.txt": _filled("words ".encode("utf-16-le")),
    "headings.md": _filled("# a\n"),
    "sections.md": _filled("# a\n\nb\n\n"),
    "long heading.md": lambda size: b"# " + b"h" * (size // 2) + b"\n" + b"## a b\n\nw\n\n" * (size // 24),
    "deep headings.md": _filled("".join("#" * i + " " + "h" * 280 + "\n\n" for i in range(1, 7))),
    "fences.md": lambda size: b"".join(b"`" * i + b"\n" for i in range(3, int((2 * size) ** 0.5)))[:size],
    "bars.md": _filled("|\n"),
    "underlines.md": _filled("--\n"),
    "underlined.md": _filled("a\n=\n"),
    "brackets.md": _filled("# " + "[" * 200 + "\n"),
    "items.md": _filled("- a\n"),
    "aliases.md": _matter("b: *a\n", b"a: &a [x]\n"),
    "flow.md": _matter("[", b"a: "),
    "bad pairs.md": _matter("k: : v\n"),
    "yaml items.md": _matter("- b\n", b"a:\n"),
    "yaml digits.md": _matter("9", b"k: "),
    "yaml times.md": _matter("1:", b"k: !!int '"),
    "yaml objects.md": _matter("{a: ", b"k: "),
    "toml digits.md": _matter("9", b"a = ", mark=TOML),
    "yaml quotes.md": _matter('\\"', b'a: "'),
    "dotted.md": _matter("[a." + ".".join("b" * 30) + "]\n", mark=TOML),
    "toml list.md": _matter("1,", b"a=[", mark=TOML),
    "toml lists.md": _matter("[", b"a=", mark=TOML),
    "toml tables.md": _matter("[[a]]\n", mark=TOML),
    "toml inline.md": _matter("b={", b"a={", mark=TOML),
    "toml quotes.md": _matter('"" ', b'a="""', mark=TOML),
    "titles.rst": _filled("a\n===\n"),
    "overlined.rst": _filled("===\na\n===\n"),
    "directives.rst": _filled("\n.. a::\n b\n"),
    "literals.rst": _filled("::\n\n a\n\n"),
    "grid.rst": _filled("+-+\n"),
    "indented.rst": _filled(" a" + "\n" * 9, b"::\n\n"),
    "lines.py": _filled("x = 1\n"),
    "fields.eml": _filled("X: w\n", end=b"\nbody"),
    "folded.eml": _filled(" w\n", b"X: w\n", b"\nbody"),
    "parts.eml": _filled("--B\n\nw\n", b"Content-Type: multipart/mixed; boundary=B\n\n", b"--B--"),
    "comments.eml": _filled("w\n", b"From: " + b"(" * 990 + b"\nTo: " + b"a," * 490 + b"\n\n"),
    "words.eml": _filled("w\n", b"Subject: " + b"=?utf-8?q?a?= " * 65 + b"\nCc: " + b"a:" * 490 + b"\n\n"),
    "quoted.eml": _filled("=\n", b"Content-Transfer-Encoding: quoted-printable\n\n", b"words"),
}  # fmt: skip
TINY = frozenset({"long name.csv", "rows.csv", "rows.tsv", "members.json", "numbers.jsonl"})
"""Those that make a document of two or four bytes: as many as bytes allow, each at the cost of a document."""
PAGE_BYTES = 8 << 10
"""Larger pages are read in a process."""
PAGES: dict[str, Maker] = {
    f"{name}.html": _filled(unit)
    for name, unit in {
        "attributes": "<b a=1>", "tables": "<table><tr><td>", "entities": "&amp",
        "scripts": "<script>",
        "comments": "<!--",
        "links": "<a href=x>", "fonts": "<font><p>", "drawings": "<svg><p>", "unbroken": "<nobr><p>",
        "lists": "<ul><li>",
    }.items()
}  # fmt: skip
OPENINGS = (
    "/*", "a<", "%w(", "a|", "(", "{", "[", "f(", "<", "'", '"', "`", "${", "<<E\n", "=>", "::", "if(", "class A{",
    "def f(\n", "#if x\n", "a?", "@a(", "case x:", "new A(", "!(", "do\n", "if a\n", "(a,",
)  # fmt: skip
"""What a parser recovers from again and again where it is never closed."""


def opened(opening: str, ending: str, size: int) -> bytes:
    """Return a source of so many bytes that repeats an opening, each with another name after it and an ending."""
    rng = random.Random(opening + ending)
    text = "".join(f"{opening}k{rng.getrandbits(24):x}{ending}" for _ in range(size // (len(opening) + 4)))
    return text.encode()[:size]
