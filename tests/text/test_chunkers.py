"""Properties of every chunk for any text, and the choice of boundaries."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.text import borders, count_tokens, steps
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
    """Slices, lines, coverage, order, size, overlap and progress hold for every text, type and size."""
    check_laws(Document(text, {"type": kind}), chunker)


@settings(max_examples=examples(100), deadline=None)
@given(texts, st.sampled_from(TYPES), chunkers)
def test_deterministic(text: str, kind: str, chunker: Chunker) -> None:
    """Equal documents give equal chunks, all at once or one at a time."""
    document = Document(text, {"type": kind})
    assert chunker.split(document) == chunker.split(Document(text, {"type": kind}))
    assert chunker.split(document) == list(chunker.iterate(document))


@given(chunkers)
def test_fingerprint_round_trips(chunker: Chunker) -> None:
    """A fingerprint is parsed to an equal chunker."""
    assert Chunker.parse(chunker.fingerprint) == chunker


def test_settings_are_checked() -> None:
    """A size below 8, an overlap above a quarter and an unknown fingerprint are refused."""
    for size, overlap in ((7, 0), (0, 0), (40, 11), (40, -1)):
        with pytest.raises(ArgumentError, match="must be"):
            Chunker(size, overlap)
    with pytest.raises(ArgumentError, match="fingerprint must be"):
        Chunker.parse("chunker-0(size=40,overlap=4)")


@given(st.text(max_size=60))
def test_count_tokens_of_plain_text(text: str) -> None:
    """Outside Chinese, Japanese and Korean, a word counts one token per 8 characters, rounded up."""
    if (
        re.search(
            "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]", text
        )
        is None
    ):
        assert count_tokens(text) == sum(-(-len(word) // 8) for word in text.split())


@settings(max_examples=examples(100))
@given(texts, st.integers(0, 60), st.integers(1, 60))
def test_steps_are_those_of_patterns(text: str, position: int, tokens: int) -> None:
    position = min(position, len(text))
    piece = (borders._piece_dense if borders.is_dense(text) else borders._piece).pattern
    window = re.compile(rf"(?:{piece}\s{{0,{borders.BLANK_RUN}}}+){{1,{tokens}}}+").match(text, position)
    assert steps.after_tokens(text, position, tokens) == (window.end() if window else position)
    blanks = re.compile(r"\s*").match(text, position)
    assert blanks is not None
    assert steps.after_blanks(text, position) == blanks.end()


def test_count_tokens_of_dense_scripts() -> None:
    """Each Chinese, Japanese and Korean character counts one token; other text counts as usual."""
    assert count_tokens("漢字とkana") == 4
    assert count_tokens("한국어 is Korean") == 5


def test_blank_documents_have_no_chunks() -> None:
    """A blank document has no chunks."""
    for text in ("", " ", "\n\n\t", "\f\f", "\u2028\xa0"):
        for kind in TYPES:
            assert Chunker().split(Document(text, {"type": kind})) == []


def test_short_document_is_one_chunk() -> None:
    """A text that fits is one chunk, without surrounding blank lines."""
    assert Chunker().split(Document("\n\n  one\ntwo \n")) == [Chunk("  one\ntwo", 2, 11, 3, 4)]


def test_a_type_that_is_no_string_is_plain_text() -> None:
    """A "type" in metadata that is not a string means plain text."""
    assert len(Chunker().split(Document("# A\n\ntext", {"type": ["markdown"]}))) == 1


def words(count: int, start: int = 0) -> str:
    return " ".join(f"w{start + i}" for i in range(count))


def test_headings_divide() -> None:
    """A section starts a new chunk with its path of headings."""
    text = f"# Guide\n\n{words(30)}\n\n## Install\n\n{words(30)}\n\n## Use `it`\n\n{words(30)}\n\n# End\n\n{words(30)}"
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(40, 0))
    assert [chunk.fields.get("heading") for chunk in chunks] == [
        "Guide",
        "Guide > Install",
        "Guide > Use it",
        "End",
    ]
    assert chunks[1].text.startswith("## Install")


def test_headings_that_follow_each_other_are_one_path() -> None:
    """A chunk that starts with a chapter and its first section belongs to the section."""
    text = f"# Guide\n\n## Install\n\n{words(30)}"
    assert Chunker(60, 0).split(Document(text, {"type": "markdown"}))[0].fields == {
        "heading": "Guide > Install"
    }


def test_small_sections_share_a_chunk() -> None:
    """Sections of a few words are combined."""
    text = "\n\n".join(f"## S{i}\n\nfew words" for i in range(30))
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(40, 0))
    assert len(chunks) < 12


def test_underlined_headings() -> None:
    """Markdown headings may be underlined."""
    text = f"Guide\n=====\n\n{words(30)}\n\nInstall\n-------\n\n{words(30)}"
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(40, 0))
    assert [chunk.fields["heading"] for chunk in chunks] == ["Guide", "Guide > Install"]


def test_reST_headings() -> None:  # noqa: N802
    """Levels of reStructuredText headings follow the order in which underlines are first used."""
    text = (
        f"=====\nGuide\n=====\n\n{words(30)}\n\nInstall\n-------\n\n{words(30)}\n\nUse\n---\n\n{words(30)}\n\n"
        f"Deep\n^^^^\n\n{words(30)}\n\n=====\nOther\n=====\n\n{words(30)}"
    )
    chunks = check_laws(Document(text, {"type": "rst"}), Chunker(40, 0))
    paths = [chunk.fields["heading"] for chunk in chunks]
    assert paths == ["Guide", "Guide > Install", "Guide > Use", "Guide > Use > Deep", "Other"]


def test_hash_in_code_is_no_heading() -> None:
    """Comments in fenced code are not headings, and code that fits is not cut."""
    code = "```python\n# not a heading\n\nx = 1\n\n# nor this\n```"
    text = f"# Guide\n\n{words(25)}\n\n{code}\n\n{words(25)}"
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(40, 0))
    assert {chunk.fields["heading"] for chunk in chunks} == {"Guide"}
    assert any(code in chunk.text for chunk in chunks)


def test_indented_code_has_no_headings() -> None:
    """A line with four leading blanks is code, whatever it starts with."""
    text = f"# Guide\n\n    # comment\n    x\n    ---\n\n{words(30)}"
    assert check_laws(Document(text, {"type": "markdown"}), Chunker(80, 0))[0].fields == {"heading": "Guide"}


def test_literal_blocks_stay_whole() -> None:
    """Literal blocks and directives of reStructuredText that fit a chunk are not cut."""
    block = "Example::\n\n    one = 1\n\n    two = 2\n\n    three = 3"
    text = f"{words(25)}\n\n{block}\n\n{words(25)}\n\n.. code-block:: python\n\n   x = 1\n\n   y = 2\n\n{words(20)}"
    chunks = check_laws(Document(text, {"type": "rst"}), Chunker(40, 0))
    assert any(block in chunk.text for chunk in chunks)
    assert any("x = 1\n\n   y = 2" in chunk.text for chunk in chunks)


def test_tables_stay_whole() -> None:
    """A table that fits a chunk is not cut."""
    table = "| a | b |\n|---|---|\n" + "| one | two |\n" * 4
    text = f"{words(25)}\n\n{table}\n{words(25)}"
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(48, 0))
    assert any(table.rstrip() in chunk.text for chunk in chunks)


def test_a_large_table_is_cut_between_rows() -> None:
    """A table that does not fit a chunk is cut at line ends."""
    table = "| a | b |\n|---|---|\n" + "".join(f"| one {i} | two. Three |\n" for i in range(100))
    chunks = check_laws(Document(table, {"type": "markdown"}), Chunker(40, 0))
    assert all(chunk.text.startswith("|") and chunk.text.endswith("|") for chunk in chunks)


def test_paragraphs_before_sentences() -> None:
    """A paragraph boundary in the second half of a chunk wins over a later sentence."""
    text = f"{words(30)}.\n\nOne. Two. Three. {words(60)}."
    assert check_laws(Document(text), Chunker(40, 0))[0].text == f"{words(30)}."


def test_sentences_before_words() -> None:
    """A long paragraph is cut after a sentence; abbreviations and initials do not end one."""
    text = f"{words(25)}. Next J. Smith and Dr. Who met {words(60)}."
    assert check_laws(Document(text), Chunker(40, 0))[0].text == f"{words(25)}."


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_texts_of_one_case_are_cut_alike(change: Callable[[str], str]) -> None:
    """In capitals or in small letters, a text is cut after the same sentences as in both."""
    text = f"The {words(30)}. Fig. 2 and Dr. J. Smith show {words(20)}. " * 5
    chunker = Chunker(64, 16)
    spans = [(chunk.start, chunk.end) for chunk in chunker.split(Document(text))]
    assert len(spans) > 3
    assert [(chunk.start, chunk.end) for chunk in chunker.split(Document(change(text)))] == spans


def test_list_items_are_borders() -> None:
    """A long list is cut between items."""
    text = "\n".join(f"- item {i} has\n  some words" for i in range(60))
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(40, 0))
    assert all(chunk.text.startswith("- item") for chunk in chunks)


def test_dense_scripts_have_sentences() -> None:
    """Chinese text is cut after a full stop without a following blank."""
    chunks = check_laws(Document("这是一个比较短的句子。" * 40), Chunker(40, 0))
    assert all(chunk.text.endswith("。") for chunk in chunks)


def test_words_stay_whole() -> None:
    """Without any other boundary, a chunk ends between words."""
    text = words(1000).replace("w", "considerable")
    chunks = check_laws(Document(text), Chunker(40, 0))
    assert all(re.fullmatch(r"considerable\d+( considerable\d+)*", chunk.text) for chunk in chunks)


def test_overlap_repeats_whole_sentences() -> None:
    """A chunk within a section starts with the last sentences of the previous one."""
    text = " ".join(f"Sentence number {i} is here." for i in range(60))
    chunks = check_laws(Document(text), Chunker(40, 10))
    assert all(before.end > after.start for before, after in pairwise(chunks))
    assert all(chunk.text.startswith("Sentence") for chunk in chunks)


def test_overlap_stays_in_its_section() -> None:
    """Sections do not overlap."""
    text = f"# A\n\nOne sentence. Two sentences. {words(30)}. Last one.\n\n# B\n\n{words(30)}."
    chunks = check_laws(Document(text, {"type": "markdown"}), Chunker(60, 15))
    assert chunks[-1].text.startswith("# B")


def test_tiny_tail_is_joined() -> None:
    """A few remaining words belong to the previous chunk."""
    text = f"{words(40)} tail end here"
    assert len(check_laws(Document(text), Chunker(40, 8))) == 1


def test_pages() -> None:
    """Form feeds separate pages; a chunk lies on one page and has its number."""
    text = f"{words(10)}\f\f{words(50)}\n\f{words(3)}"
    chunks = check_laws(Document(text, {"type": "pdf"}), Chunker(40, 0))
    assert [chunk.page for chunk in chunks] == [1, 3, 3, 4]
    assert all("\f" not in chunk.text for chunk in chunks)


def test_short_pages_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is shorter than a quarter of a chunk is cut without looking at what follows it."""
    monkeypatch.setattr("sleuth.text.chunkers.after_tokens", lambda *_: pytest.fail("it was measured"))
    pages = [f"page {i} has words" for i in range(300)]
    chunks = Chunker(400, 0).split(Document("\f".join(pages)))
    assert [(chunk.text, chunk.page) for chunk in chunks] == [(page, i) for i, page in enumerate(pages, 1)]


def test_pages_are_numbered_where_there_are_pages() -> None:
    """A PDF of one page has page 1; plain text without form feeds, and code, have no page."""
    assert Chunker().split(Document("a", {"type": "pdf"}))[0].page == 1
    assert Chunker().split(Document("a"))[0].page is None
    assert Chunker().split(Document("a\fb"))[1].page == 2
    assert [chunk.page for chunk in Chunker().split(Document("a\n\f\nb", {"type": "python"}))] == [None]


def test_code_is_cut_at_definitions() -> None:
    """Source code is cut before top-level definitions, with its indentation, without overlap."""
    body = "".join(f"    line_{i} = {i}\n\n" for i in range(8))
    text = "".join(f"def f{i}():\n{body}\n" for i in range(12))
    chunks = check_laws(Document(text, {"type": "python"}), Chunker(60, 15))
    assert all(chunk.text.startswith("def") for chunk in chunks)


def test_indentation_is_kept() -> None:
    """A chunk that starts at a line starts with its indentation."""
    text = "".join(f"    deep_{i} = {i}\n" for i in range(100))
    chunks = check_laws(Document(text, {"type": "python"}), Chunker(40, 0))
    assert all(chunk.text.startswith("    deep") for chunk in chunks)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("unit", MONOTONOUS)
def test_monotonous_text_takes_linear_time(unit: str, kind: str) -> None:
    """A text of one repeated character is cut in linear time."""
    text = unit * (100_000 // len(unit))
    chunks = Chunker().split(Document(text, {"type": kind}))
    assert bool(chunks) == bool(text.strip())
    assert sum(len(chunk.text) for chunk in chunks) <= 2 * len(text)


def test_one_line_of_many_megabytes() -> None:
    """A long line without blanks is cut every `size` tokens, one chunk at a time."""
    text = "x" * 20_000_000
    chunks = Chunker().iterate(Document(text))
    first = next(chunks)
    assert (first.start, first.end) == (0, 3200)
    assert 1 + sum(1 for _ in chunks) == 6250
