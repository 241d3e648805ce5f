"""Symbols, references, imports and labels in every language."""

import zlib
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.code.parsing import analyse
from sleuth.code.parsing.analyse import is_minified
from sleuth.code.parsing.detail import Detail
from sleuth.code.parsing.grammars import PURPOSES, grammar, query_text
from sleuth.code.parsing.kinds import BINDING_NUMBERS, ROLE_NUMBERS
from sleuth.code.parsing.labels import category_of, labels_of_path
from sleuth.code.parsing.languages import LANGUAGES, languages_named, ways_of
from sleuth.code.parsing.lines import LineIndex
from sleuth.code.parsing.tables import Tables, pack_tables, unpack_tables
from sleuth.code.search.filters import _test as file_test
from sleuth.errors import ArgumentError, CodeError
from tests.code.conftest import parse_source, write
from tests.code.projects import SAMPLES
from tests.examples import examples

SOURCES: dict[str, tuple[str, str, str]] = SAMPLES["sources"]


@pytest.mark.parametrize("language", SOURCES)
def test_definitions_and_references(language: str) -> None:
    """Every grammar gives qualified definitions with their kind, and references with their role."""
    check_definitions_and_references(language, SOURCES[language])


def check_definitions_and_references(language: str, sample: tuple[str, str, str]) -> None:
    """Assert that a source has a symbol and a reference."""
    source, symbol, reference = sample
    parse = parse_source(source.encode(), language, "x")
    assert parse.sound
    assert symbol in [f"{s.qualified} {s.kind}" for s in parse.symbols]
    assert reference in [f"{r.name} {r.role}" for r in parse.references]


@pytest.mark.parametrize("language", [n for n, v in LANGUAGES.items() if v.package])
def test_queries_compile(language: str) -> None:
    """Every language with a grammar has queries for each purpose that it needs, and they fit the installed grammar."""
    imports = language not in ("sql", "graphql", "docker")  # they have no such statement
    markup = language in ("html", "vue", "svelte")
    calls = language != "docker" and not markup  # nor these have calls
    variables = calls and language not in ("bash", "css", "graphql", "hcl", "sql")  # those call none
    assert [bool(query_text(language, purpose)) for purpose in PURPOSES] == [
        True, True, variables, imports, markup,
    ]  # fmt: skip
    subjects = {pattern.subject for pattern in grammar(language).patterns}
    assert ({"reference.call"} if calls else set()) | ({"import"} if imports else set()) < subjects
    assert any(subject.startswith("definition.") for subject in subjects)
    assert all(
        s in ROLE_NUMBERS | BINDING_NUMBERS
        or s.partition(".")[0] in ("definition", "doc", "import", "injection", "wrapper")
        for s in subjects
    )


def test_a_python_class_in_full() -> None:
    """Docstrings, signatures, decorators, comments before a definition, parents and labels are recorded."""
    source = (
        b"# Rows of the shop.\n@dataclass\nclass Order(Base):\n    '''What a customer wants.'''\n    total: int = 0\n\n"
        b"    @app.route('/x')\n    async def pay(\n        self, card: str\n    ) -> bool:\n        return True\n"
    )
    order, pay = [s for s in parse_source(source, "python", "shop.py").symbols if s.kind != "attribute"]
    assert (order.start, order.line, order.end) == (1, 3, 11)
    assert order.doc == "What a customer wants."
    assert order.signature == "class Order(Base)"
    assert order.labels == ("class_definition", "public_api", "data_schema")
    assert (pay.qualified, pay.parent, pay.start, pay.line) == ("Order.pay", 0, 7, 8)
    assert pay.signature == "async def pay(self, card: str) -> bool"
    assert {"method_definition", "api_endpoint", "async"} <= set(pay.labels)


def test_other_languages_take_docs_from_comments() -> None:
    """A comment directly above a definition is its doc; a comment one line away is not."""
    source = b"// Far away.\n\n/**\n * Handles it.\n */\nexport function f() {}\n"
    (symbol,) = parse_source(source, "typescript", "x.ts").symbols
    assert (symbol.doc, symbol.start, symbol.line) == ("Handles it.", 3, 6)


@pytest.mark.parametrize(
    "source", ["def f(:\n  x\n\ndef g(): pass\n", "class A:\n    def f(self):\n        return 1 +* 2\n"]
)
def test_syntax_errors_keep_the_sound_parts(source: str) -> None:
    """A broken file is indexed as far as it parses, and is marked as broken."""
    parse = parse_source(source.encode(), "python", "x.py")
    assert not parse.sound
    assert {s.name for s in parse.symbols} & {"g", "f", "A"}


@pytest.mark.parametrize(("language", "text", "expected"), SAMPLES["imports"])
def test_imports(language: str, text: str, expected: list[list[str]]) -> None:
    """An import statement gives the module, name and alias of everything that it imports."""
    assert [list(i)[:3] for i in ways_of(language).imports(text)] == expected


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("shop/latest.py", "code"), ("a/contest.py", "code"), ("tests/x.py", "test"), ("x_test.go", "test"),
        ("src/FooTest.java", "test"), ("a/FieldSpec.java", "code"), ("x.spec.ts", "test"), ("conftest.py", "test"),
        ("docs/a.md", "docs"), ("setup.cfg", "config"), ("node_modules/a/b.js", "generated"), ("a_pb2.py", "generated"),
        ("yarn.lock", "generated"), ("app/x.min.js", "generated"),
    ],
)  # fmt: skip
def test_categories(path: str, category: str) -> None:
    """The category depends on whole parts of the path: "latest.py" is not a test."""
    assert labels_of_path(path)[1] == category


def test_generated_files_say_so() -> None:
    """A file whose head says "do not edit" is generated."""
    assert category_of("a.go", "go", b"// Code generated by stringer. DO NOT EDIT.\n") == "generated"


@pytest.mark.parametrize(
    ("key", "is_jsx", "is_js"), [("language", True, False), ("exclude_language", False, True)]
)
def test_a_dialect_is_its_files_alone(key: str, is_jsx: bool, is_js: bool) -> None:
    """A filter by jsx is about .jsx files, and one by js about both."""
    rows: list[Any] = [SimpleNamespace(path=path, language="javascript") for path in ("a.JSX", "a.js")]
    assert [file_test(key, ["jsx"])(row) for row in rows] == [is_jsx, is_js]
    assert [file_test(key, ["js"])(row) for row in rows] == [is_jsx, is_jsx]


def test_languages_by_name_and_extension() -> None:
    """Names and extensions resolve to the same languages; unknown ones raise an error with the list."""
    assert languages_named("python") == languages_named(".py") == languages_named("PY") == ["python"]
    assert languages_named("c++") == ["cpp"]
    assert languages_named("jsx") == languages_named(".JSX") == [".jsx"]
    with pytest.raises(ArgumentError, match="python"):
        languages_named("klingon")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding: str) -> None:
    """A source file is decoded as a document is, and stored as UTF-8; data in it does not make it minified."""
    source = f"# Größe und Übermut\nx = '{'Q1k' * 9_000}'\n"
    analysed = analyse.analyse("a.py", source.encode(encoding))
    assert (analysed.skip, analysed.texts["body"]) == ("", source)
    assert analyse.analyse("a.py", b"'\r'\r\na=1\r\n").chunk_texts["body"] == ["'\r'\na=1"]
    assert zlib.decompress(analysed.content).decode("utf-8-sig") == source


@pytest.mark.parametrize(("content", "reason"), [(b"\0\1\2", "binary"), (b"var a=1;" * 2000, "minified")])
def test_useless_files_are_skipped_with_a_reason(content: bytes, reason: str) -> None:
    """Binary and minified files have no chunks and a reason."""
    analysis = analyse.analyse("x.js", content)
    assert (analysis.skip, analysis.chunk_texts) == (reason, {})


def test_details_survive_packing() -> None:
    """Packed details of parsing are unpacked unchanged."""
    source = SOURCES["python"][0].encode()
    detail = Detail.read(packed := analyse.analyse("a.py", source).detail, source, "a.py")
    assert detail.pack() == packed
    assert detail.references == parse_source(source, "python", "a.py").references
    assert detail.chunks == parse_source(source, "python", "a.py").chunks


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["a.py", "a.ts", "a.go", "a.rb", "a.cpp", "a.md", "a"]))
def test_any_bytes_are_taken(content: bytes, path: str) -> None:
    """Analysis accepts any bytes."""
    assert analyse.analyse(path, content).size == len(content)


DEEP = {
    "python": b"a+" * 50_000 + b"a",
    "javascript": b"f(" * 50_000,
    "cpp": b"namespace a{" * 10_000 + b"}" * 10_000,
    "ruby": b"class A\n" * 10_000 + b"end\n" * 10_000,
}


@pytest.mark.parametrize("language", DEEP)
def test_no_nesting_is_too_deep(language: str) -> None:
    """Code nested thousands of levels deep is analysed."""
    detail = parse_source(DEEP[language], language)
    assert detail.chunks[-1].end == max(1, DEEP[language].count(b"\n"))
    assert Detail.read(detail.pack(), DEEP[language], "").references == detail.references


def test_every_pattern_is_found_by_its_own_words() -> None:
    """Anchors, absent fields, alternatives and predicates of patterns match their samples."""
    go = parse_source(b"package m\ntype T struct{ B; c C; *D }\n", "go")
    assert [r.name for r in go.references if r.role == "inheritance"] == ["B", "D"]
    ruby = parse_source(
        b"class A\n  include M\n  extend N::O\n  attach P\nend\nrequire 'x'\nname 'y'\n", "ruby"
    )
    assert [(r.qualifier, r.name) for r in ruby.references if r.role == "inheritance"] == [
        ("", "M"),
        ("N", "O"),
    ]
    assert [i.module for i in ruby.imports] == ["x"]
    python = parse_source(b"def f():\n    x\n    'no doc'\ndef g():\n    'doc'\n", "python")
    assert [s.doc for s in python.symbols] == ["", "doc"]


@pytest.mark.parametrize(("pattern", "message"), [
    ("(klass name: (_) @name) @definition.class", r"tree-sitter-python does not fit .*klass.* pip install"),
    ("(class_definition name: (_) @name) @definition.klass", r"definition\.klass"),
])  # fmt: skip
def test_a_wrong_query_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pattern: str, message: str
) -> None:
    """A node that the installed grammar lacks is named with the remedy; a pattern without a known capture is quoted."""
    write(tmp_path, {"python/definitions.scm": f"{pattern}\n"})
    monkeypatch.setattr("sleuth.code.parsing.grammars._QUERIES", tmp_path)
    with pytest.raises(CodeError, match=message):
        grammar.__wrapped__("python")


@given(st.text(alphabet="ab\n\r", max_size=60))
def test_lines_are_those_that_newlines_end(text: str) -> None:
    """Lines equal those of splitting at newlines."""
    source = text.encode()
    index = LineIndex(source)
    expected = source.split(b"\n")[: len(index)]
    assert [source[index.start(n) : index.stop(n)] for n in range(1, len(index) + 1)] == expected
    assert not is_minified(text)
    for first in range(1, len(index) + 1):
        for last in (first, len(index)):
            assert index.cut(first, last) == source[index.start(first) : index.stop(last)].decode()
    assert index.lines_of(np.arange(len(source), dtype=np.int32)).tolist() == [
        index.line(byte) for byte in range(len(source))
    ]


NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)


@given(st.lists(st.lists(NUMBERS, min_size=38, max_size=38), max_size=20), st.booleans())
def test_tables_survive_packing(rows: list[list[int]], sound: bool) -> None:
    """Any 32-bit numbers are unpacked unchanged."""
    table = np.array(rows, np.int32).reshape(-1, 38)
    tables = Tables(table[:, :15], table[:3, 15:22], table[2:, 22:30], table[:, 30:34], table[1:, 34:], sound)
    unpacked, language = unpack_tables(pack_tables(tables, 7))
    assert (unpacked.sound, language) == (sound, 7)
    assert all(a.tolist() == b.tolist() for a, b in zip(unpacked[:5], tables[:5], strict=True))


@given(st.integers(min_value=0), st.binary(max_size=3))
def test_damaged_tables_are_refused(at: int, instead: bytes) -> None:
    """Truncated or changed bytes are read as some table or raise an error with the remedy."""
    packed = bytearray(parse_source(b"class A:\n    def f(self): return g(1)\n", "python").pack())
    at %= len(packed)
    packed[at : at + len(instead) + 1] = instead
    with suppress(CodeError):
        tables, _ = unpack_tables(bytes(packed))
        assert [table.shape[1] for table in tables[:4]] == [15, 7, 4, 4]
    with pytest.raises(CodeError, match="index again"):
        unpack_tables(bytes(packed[: len(packed) // 2]))


def lines_of(name: str) -> list[str]:
    """Return the statements of a file, between which lines are blank."""
    return (Path(__file__).parent / name).read_text("utf8").rstrip("\n").split("\n\n")


@pytest.mark.parametrize(
    ("line", "count"),
    [*((line, 1) for line in lines_of("uses.txt")), *((line, 0) for line in lines_of("variables.txt"))],
)
def test_uses_of_python(line: str, count: int) -> None:
    """An imported name is a use in any expression, type or pattern; parameters and variables of its name are not."""
    source = f"from m import Base\n{line}\n"
    uses = [r.name for r in parse_source(source.encode(), "python", "x.py").references if r.role != "import"]
    assert uses.count("Base") == count


def test_names_of_scopes_in_python() -> None:
    """A plain name means what the scopes around it define; methods are not seen from other methods."""
    source = b"""
def outer():
    def inner(): pass
    return inner

class A:
    def save(self): pass
    keep = save
    def other(self): return save, unknown
"""
    references = parse_source(source, "python", "x.py").references
    assert [(r.name, r.line) for r in references] == [("inner", 4), ("save", 8)]


def test_lines_of_imports() -> None:
    """A name of an import over several lines is at its own line."""
    source = b"from m import (\n    a,\n    b as c,  # a\n)\nimport x, y\n"
    detail = parse_source(source, "python", "x.py")
    assert [(r.name, r.line) for r in detail.references] == [("a", 2), ("b", 3), ("x", 5), ("y", 5)]
    assert [(item.alias, item.line) for item in detail.imports] == [("a", 2), ("c", 3), ("x", 5), ("y", 5)]
