"""Files are cut into chunks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.code.parsing import analyse
from sleuth.code.parsing.chunks import CONTAINER_LINES, PART_LINES, WHOLE_LINES
from sleuth.code.parsing.detail import Detail
from sleuth.code.parsing.kinds import CHUNK_KINDS
from sleuth.code.parsing.tables import ChunkRow
from tests.code.conftest import parse_source
from tests.code.projects import SHOP
from tests.code.test_parse import SOURCES
from tests.examples import examples


def chunks_of(source: str, language: str = "python") -> list[ChunkRow]:
    return parse_source(source.encode(), language, "x").chunks


def chunks_of_text(text: str) -> list[ChunkRow]:
    data = text.encode()
    return Detail.read(analyse.analyse("x.md", data).detail, data, "x.md").chunks


def check(source: str, chunks: list[ChunkRow]) -> None:
    """Chunks are in order, do not overlap, and leave out blank lines only."""
    lines = source.split("\n")
    covered: set[int] = set()
    last = 0
    for chunk in chunks:
        assert last < chunk.start <= chunk.end
        last = chunk.end
        covered |= set(range(chunk.start, chunk.end + 1))
    assert all(not line.strip() for n, line in enumerate(lines, 1) if n not in covered)


LINE = st.sampled_from([
    "def f(x):", "    return x", "class A:", "    def m(self):", "        pass", "", "x = 1", "# note", "@deco",
    "if x:", "    y(", "    )", "}",
])  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(LINE, max_size=150))
def test_every_line_is_in_one_chunk(lines: list[str]) -> None:
    """Every line of a valid or broken file is in exactly one chunk."""
    source = "\n".join(lines)
    check(source, chunks_of(source))


@pytest.mark.parametrize("language", SOURCES)
def test_every_language_is_cut(language: str) -> None:
    """The sample of every language, repeated until it is long, keeps every line."""
    source = SOURCES[language][0] * 40
    check(source, chunks_of(source, language))


def test_the_shop_is_cut_without_loss() -> None:
    """Text without a grammar keeps every line too."""
    for text in SHOP.values():
        check(text, chunks_of_text(text))


def test_a_small_class_is_one_chunk() -> None:
    """A container up to the limit is one chunk."""
    source = "class A:\n    def f(self):\n        pass\n"
    assert [(c.start, c.end, CHUNK_KINDS[c.kind]) for c in chunks_of(source)] == [(1, 3, "definition")]


def test_a_long_class_is_outline_and_members() -> None:
    """Members include their comments and decorators; the rest is the outline."""
    members = "".join(
        f"    # about {i}\n    @d\n    def f{i}(self):\n        return {i}\n\n"
        for i in range(CONTAINER_LINES)
    )
    source = f"class A:\n    '''Doc.'''\n    x = 1\n\n{members}"
    chunks = chunks_of(source)
    assert (CHUNK_KINDS[chunks[0].kind], chunks[0].start, chunks[0].end) == ("outline", 1, 3)
    assert {CHUNK_KINDS[c.kind] for c in chunks[1:]} == {"definition"}
    assert all(c.end - c.start == 3 for c in chunks[1:])


def test_a_long_body_is_cut_at_statements() -> None:
    """No piece begins inside a statement or is much longer than the limit."""
    statements = "".join(f"    y = call(\n        {i},\n    )\n" for i in range(WHOLE_LINES))
    chunks = chunks_of(f"def f():\n{statements}")
    lines = f"def f():\n{statements}".split("\n")
    assert len(chunks) > 2
    assert all(lines[c.start - 1].startswith(("def f", "    y = call(")) for c in chunks)
    assert all(c.end - c.start < PART_LINES for c in chunks)
    assert {CHUNK_KINDS[c.kind] for c in chunks} == {"part"}


def test_module_level_code_is_kept() -> None:
    """Code between definitions is a chunk of its own."""
    source = "import a\nimport b\n\n\ndef f():\n    pass\n\n\nmain = f()\n"
    pieces = [(c.start, c.end, CHUNK_KINDS[c.kind]) for c in chunks_of(source)]
    assert pieces == [(1, 2, "module"), (5, 6, "definition"), (9, 9, "module")]


def test_headings_begin_pieces_of_text() -> None:
    """A long text is cut at the beginnings of its sections."""
    text = "".join(f"# Part {i}\n\nWords.\nMore words.\n\n" for i in range(40))
    chunks = chunks_of_text(text)
    assert len(chunks) > 2
    assert all(text.split("\n")[c.start - 1].startswith("# Part") for c in chunks)
