"""Properties of every chunk for any text, and the choice of boundaries."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.text import borders, count_tokens, cutter
from sleuth.text.chunkers import Chunker
from sleuth.types import Chunk, Document
from tests.examples import examples

TYPES = ["", "text", "markdown", "rst", "html", "pdf", "python", "json"]

# fmt: off
PIECES = [
    "word", "Sentence ends.", "Really?", "No!", "Dr. Who", "\n", "\n\n", "\n \t\n", "\r\n", "\f", " ", "  ",
    "\t", "    code", "# Title", "## Sub #", "###### Deep", "#", "Over\n====", "Under\n-----", "```", "```python",
    "~~~~", "| a | b |", "|---|---|", "- item", "* item", "12. item", ".. note::", "::", "+---+", "=====", "-----",
    "x" * 50, " " * 300, "\n" * 12, "漢字。", "かな", "한국어", "é", "e\u0301", "👩‍👩‍👧", "\ud800", "\0", "\x1c",
    "\u2028", "\xa0", "\u200b", "…", "”", "def f():", "    return 1", "}", "</p>",
]
MONOTONOUS = [
    "x", " ", "\n", "a ", "a.", ". ", ".\n", "\n ", "`", "```\n", "#", "# \n", "|", "| a\n", "=", "=\n",
    "a\n=\n", "- ", "\n- ", "::\n", ".. x::\n", "\f", "\0", "\ud800", "漢", "。", "“", "['", "[a](",
    "a\n\n b::\n", "\r", "\t\n", "***\n", "::\n\n", "+\n", "\n.. a::\n\n",
]
# fmt: on
texts = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(PIECES), max_size=120).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=120).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=120).map("\n".join),
)
chunkers = st.integers(8, 60).flatmap(
    lambda size: st.builds(Chunker, st.just(size), st.integers(0, size // 4))
)


def words(count: int) -> str:
    return " ".join(f"w{i}" for i in range(count))


PROSE = words(30)
FENCED = "```python\n# not a heading\n\nx = 1\n\n# nor this\n```"


def check_laws(document: Document, chunker: Chunker) -> list[Chunk]:
    """Check every property that `Chunker` documents, by the simplest means."""
    text = document.page_content
    chunks = chunker.split(document)
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert chunk.text == chunk.text.rstrip()
        assert chunk.start_line == 1 + text[: chunk.start].count("\n")
        assert chunk.end_line == 1 + text[: chunk.end].count("\n")
        assert count_tokens(chunk.text) <= chunker.limit
    covered = 0
    for chunk in chunks:
        assert not text[covered : chunk.start].strip()
        covered = chunk.end
    assert not text[covered:].strip()
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert text[before.end : after.end].strip()
        assert count_tokens(text[after.start : before.end]) <= chunker.overlap
    return chunks


@settings(max_examples=examples(100), deadline=None)
@given(texts, st.sampled_from(TYPES), chunkers)
def test_laws(text: str, kind: str, chunker: Chunker) -> None:
    """Slices, lines, coverage, order, size, overlap and progress hold for every text, type and size; equal documents
    give equal chunks.
    """
    document = Document(text, {"type": kind})
    chunks = check_laws(document, chunker)
    assert chunks == chunker.split(Document(text, {"type": kind}))


def test_settings_are_checked() -> None:
    """A size below 8 and an overlap above a quarter are refused."""
    for size, overlap in ((7, 0), (0, 0), (40, 11), (40, -1)):
        with pytest.raises(ArgumentError, match="must be"):
            Chunker(size, overlap)


@given(st.text(max_size=60))
def test_count_tokens_of_plain_text(text: str) -> None:
    """Outside Chinese, Japanese and Korean, a word counts one token per 8 characters, rounded up."""
    if re.search(f"[{borders._DENSE}]", text) is None:
        assert count_tokens(text) == sum(-(-len(word) // 8) for word in text.split())


@settings(max_examples=examples(100))
@given(texts, st.integers(0, 60), st.integers(1, 60))
def test_steps_are_those_of_patterns(text: str, position: int, tokens: int) -> None:
    position = min(position, len(text))
    window = re.compile(rf"(?:(?:{borders._TOKEN})\s{{0,200}}+){{1,{tokens}}}+").match(text, position)
    assert cutter.after_tokens(text, position, tokens) == (window.end() if window else position)
    blanks = re.compile(r"\s*").match(text, position)
    assert blanks is not None
    assert cutter.after_blanks(text, position) == blanks.end()


@given(st.text(), st.integers(0, 9), st.integers(0, 99))
def test_signs_are_those_that_python_counts(text: str, start: int, end: int) -> None:
    part = text[start:end]
    letters, blanks = sum(map(str.isalpha, part)), sum(map(str.isspace, part))
    counts = part.count("\n"), part.count(" ") + part.count("\t"), letters, len(part) - blanks
    assert cutter.count_signs(text, start, end) == counts


def test_count_tokens_of_dense_scripts() -> None:
    """Each Chinese, Japanese and Korean character counts one token; other text counts as usual."""
    assert count_tokens("漢字とkana") == 4
    assert count_tokens("한국어 is Korean") == 5


def test_blank_documents_have_no_chunks() -> None:
    """A blank document has no chunks."""
    for text in ("", " ", "\n\n\t", "\f\f", "\u2028\xa0"):
        for kind in TYPES:
            assert Chunker().split(Document(text, {"type": kind})) == []


@pytest.mark.parametrize(
    ("text", "metadata", "chunker", "chunk"),
    [
        ("\n\n  one\ntwo \n", {}, Chunker(), Chunk("  one\ntwo", 2, 11, 3, 4)),
        ("# A\n\ntext", {"type": ["markdown"]}, Chunker(), Chunk("# A\n\ntext", 0, 9, 1, 3)),
        (f"{words(40)} tail end here", {}, Chunker(40, 8), Chunk(f"{words(40)} tail end here", 0, 163, 1, 1)),
    ],
    ids=["without blank lines around it", "of a type that is no string", "with a few remaining words"],
)
def test_a_text_that_fits_is_one_chunk(
    text: str, metadata: dict[str, Any], chunker: Chunker, chunk: Chunk
) -> None:
    """A short document is one chunk, and a few words more than a chunk make no second one."""
    assert chunker.split(Document(text, metadata)) == [chunk]


@pytest.mark.parametrize(
    ("kind", "size", "text", "headings"),
    [
        ("markdown", 40, f"# Guide\n\n{PROSE}\n\n## Install\n\n{PROSE}\n\n## Use `it`\n\n{PROSE}\n\n# End\n\n{PROSE}",
         ["Guide", "Guide > Install", "Guide > Use it", "End"]),
        ("markdown", 60, f"# Guide\n\n## Install\n\n{PROSE}", ["Guide > Install"]),
        ("markdown", 40, f"Guide\n=====\n\n{PROSE}\n\nInstall\n-------\n\n{PROSE}", ["Guide", "Guide > Install"]),
        ("rst", 40, f"=====\nGuide\n=====\n\n{PROSE}\n\nInstall\n-------\n\n{PROSE}\n\nUse\n---\n\n{PROSE}\n\n"
         f"Deep\n^^^^\n\n{PROSE}\n\n=====\nOther\n=====\n\n{PROSE}",
         ["Guide", "Guide > Install", "Guide > Use", "Guide > Use > Deep", "Other"]),
        ("markdown", 40, f"# Guide\n\n{words(25)}\n\n{FENCED}\n\n{words(25)}", ["Guide"] * 2),
        ("markdown", 80, f"# Guide\n\n    # comment\n    x\n    ---\n\n{PROSE}", ["Guide"]),
    ],
    ids=["sections", "a chapter and its section", "underlined", "by first use", "fenced code", "indented code"],
)  # fmt: skip
def test_a_section_starts_a_chunk_with_its_path_of_headings(
    kind: str, size: int, text: str, headings: list[str]
) -> None:
    """Headings divide, a chapter and its first section are one path, and code has no headings."""
    chunks = check_laws(Document(text, {"type": kind}), Chunker(size, 0))
    assert [chunk.fields["heading"] for chunk in chunks] == headings


def test_small_sections_share_a_chunk() -> None:
    """Sections of a few words are combined."""
    text = "\n\n".join(f"## S{i}\n\nfew words" for i in range(30))
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(40, 0))
    assert len(chunks) < 12


@pytest.mark.parametrize(
    ("kind", "size", "block"),
    [
        ("markdown", 40, FENCED),
        ("markdown", 48, "| a | b |\n|---|---|" + "\n| one | two |" * 4),
        ("rst", 40, "Example::\n\n    one = 1\n\n    two = 2\n\n    three = 3"),
        ("rst", 40, ".. code-block:: python\n\n   x = 1\n\n   y = 2"),
    ],
    ids=["fenced code", "table", "literal block", "directive"],
)
def test_a_block_that_fits_a_chunk_is_not_cut(kind: str, size: int, block: str) -> None:
    """Code, tables, literal blocks and directives that fit stay whole."""
    text = f"{words(25)}\n\n{block}\n\n{words(25)}"
    assert any(block in chunk.text for chunk in check_laws(Document(text, {"type": kind}), Chunker(size, 0)))


@pytest.mark.parametrize(
    ("kind", "chunker", "text", "piece"),
    [
        ("markdown", Chunker(40, 0), "| a | b |\n|---|---|\n" + "| one | two. Three |\n" * 100, r"\|.*\|"),
        ("markdown", Chunker(40, 0), "- an item has\n  some words\n" * 60, "- an item.*"),
        ("text", Chunker(40, 0), "这是一个比较短的句子。" * 40, ".*。"),
        ("text", Chunker(40, 0), "considerable " * 1000, "considerable( considerable)*"),
        ("python", Chunker(60, 15), ("def f():\n" + "    line = 1\n\n" * 8 + "\n") * 12, "def.*"),
        ("python", Chunker(40, 0), "    deep = 1\n" * 100, "    deep.*"),
    ],
    ids=["rows", "items of a list", "sentences of Chinese", "words", "definitions", "indented lines"],
)
def test_a_chunk_begins_and_ends_where_a_unit_does(
    kind: str, chunker: Chunker, text: str, piece: str
) -> None:
    """What does not fit a chunk is cut between the largest units that there are."""
    chunks = check_laws(Document(text, {"type": kind}), chunker)
    assert len(chunks) > 1
    assert all(re.fullmatch(piece, chunk.text, re.DOTALL) for chunk in chunks)


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        (f"{PROSE}.", f"\n\nOne. Two. Three. {words(60)}."),
        (f"{words(25)}.", f" Next J. Smith and Dr. Who met {words(60)}."),
    ],
    ids=["a paragraph wins over a later sentence", "abbreviations and initials end no sentence"],
)
def test_paragraphs_before_sentences_before_words(first: str, rest: str) -> None:
    """A chunk ends with a paragraph in its second half, else with a sentence."""
    assert check_laws(Document(first + rest), Chunker(40, 0))[0].text == first


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_texts_of_one_case_are_cut_alike(change: Callable[[str], str]) -> None:
    """In capitals or in small letters, a text is cut after the same sentences as in both."""
    text = f"The {words(30)}. Fig. 2 and Dr. J. Smith show {words(20)}. " * 5
    chunker = Chunker(64, 16)
    spans = [(chunk.start, chunk.end) for chunk in chunker.split(Document(text))]
    assert len(spans) > 3
    assert [(chunk.start, chunk.end) for chunk in chunker.split(Document(change(text)))] == spans


def test_overlap_repeats_whole_sentences_of_a_section() -> None:
    """A chunk starts with the last sentences of the previous one, unless it starts a section."""
    text = " ".join(f"Sentence number {i} is here." for i in range(60))
    chunks = check_laws(Document(text), Chunker(40, 10))
    assert all(before.end > after.start for before, after in pairwise(chunks))
    assert all(chunk.text.startswith("Sentence") for chunk in chunks)
    text = f"# A\n\nOne sentence. Two sentences. {PROSE}. Last one.\n\n# B\n\n{PROSE}."
    assert check_laws(Document(text, {"type": "markdown"}), Chunker(60, 15))[-1].text.startswith("# B")


def test_pages() -> None:
    """Form feeds separate pages; a chunk lies on one page and has its number."""
    text = f"{words(10)}\f\f{words(50)}\n\f{words(3)}"
    chunks = check_laws(Document(text, {"type": "pdf"}), Chunker(40, 0))
    assert [chunk.page for chunk in chunks] == [1, 3, 3, 4]
    assert all("\f" not in chunk.text for chunk in chunks)


def test_short_pages_are_chunks() -> None:
    """A page that is shorter than a quarter of a chunk is a chunk of its own, whatever follows it."""
    pages = [f"page {i} has words" for i in range(300)]
    chunks = Chunker(400, 0).split(Document("\f".join(pages)))
    assert [(chunk.text, chunk.page) for chunk in chunks] == [(page, i) for i, page in enumerate(pages, 1)]


def test_pages_are_numbered_where_there_are_pages() -> None:
    """A PDF of one page has page 1; plain text without form feeds, and code, have no page."""
    assert Chunker().split(Document("a", {"type": "pdf"}))[0].page == 1
    assert Chunker().split(Document("a"))[0].page is None
    assert Chunker().split(Document("a\fb"))[1].page == 2
    assert [chunk.page for chunk in Chunker().split(Document("a\n\f\nb", {"type": "python"}))] == [None]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("unit", MONOTONOUS)
def test_monotonous_text_takes_linear_time(unit: str, kind: str) -> None:
    """A text of one repeated character is cut in linear time."""
    text = unit * (100_000 // len(unit))
    chunks = Chunker().split(Document(text, {"type": kind}))
    assert bool(chunks) == bool(text.strip())
    assert sum(len(chunk.text) for chunk in chunks) <= 2 * len(text)


def test_one_line_of_many_megabytes() -> None:
    """A long line without blanks is cut every `size` tokens."""
    chunks = Chunker().split(Document("x" * 20_000_000))
    assert (chunks[0].start, chunks[0].end) == (0, 3200)
    assert len(chunks) == 6250
