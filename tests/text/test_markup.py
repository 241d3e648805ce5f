"""Texts of passages without signs of Markdown."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sleuth import Document, Engine
from sleuth.text.markup import is_markdown, plain, shown_text
from tests.commands import sleuth

TEXT = (Path(__file__).parent / "signs.md").read_text("utf8")


def test_plain_text_has_no_signs() -> None:
    """A passage without its markup has a line for each paragraph, item, row and line of code."""
    expected = Path(__file__).with_name("signs.txt").read_text("utf8")
    assert plain(TEXT) == expected.removesuffix("\n")


def test_notes_are_read_as_their_authors_see_them() -> None:
    """Links between notes are their text or names, and callouts begin with their kind; code is as written."""
    links = "[[Setup]], [[Setup#Linux|this part]], [[Setup#Linux]], [[#Linux]], ![[plan.png]] and `[[code]]`"
    assert plain(links) == "Setup, this part, Setup > Linux, Linux, plan.png and [[code]]"
    assert plain("See [[Setup#^b15695]], [[a]](b) and [[]].") == "See Setup, a(b) and [[]]."
    assert plain("> [!tip]- Read [[Setup]] first\n> Then go on.") == "Tip: Read Setup first Then go on."
    assert plain("Notes: [!tip] Read first.") == "Notes: Tip: Read first."
    assert plain("> [!WARNING]\n> Not [!tip] here.") == "Warning Not [!tip] here."
    assert plain("| a | b |\n|---|---|\n| [[c\\|d]] | e |") == "a · b\nd · e"


def test_which_texts_are_markdown() -> None:
    """The format of a document says whether its text is Markdown; code, prose and rows are shown as they are."""
    assert is_markdown({"type": "html"})
    assert is_markdown({"source": "notes.md"})
    assert is_markdown({"source": "https://example.org/x"})
    assert not is_markdown({"type": "text", "source": "x.md"})
    assert not is_markdown({"source_type": "code", "source": "x.md"})
    assert shown_text({"type": "pdf"}, "## 1 Rivers\n*a*") == "1 Rivers\n*a*"


@given(st.text(st.sampled_from("<>[]()|*_`#-~!&;:\\ \n\"'=/1ajscript"), max_size=80))
def test_every_text_has_a_plain_form(text: str) -> None:
    """Broken Markdown is no error, and a text with words is not shown as an empty one."""
    assert plain(text) or not text


def test_the_shell_prints_snippets_as_the_page_shows_them(tmp_path: Path) -> None:
    """`sleuth search` prints no signs of Markdown; its JSON has the text as it is."""
    with Engine.open(tmp_path / ".sleuth", create=True, embedder=None) as engine:
        engine.add([Document(TEXT, {"source": "top.md"})])
    printed = sleuth("search", "bold picture", cwd=tmp_path).stdout
    assert "Some bold and code, a link" in " ".join(printed.split())
    assert "name · value" in printed
    assert not {"*", "`", "|", "#"} & set(printed)
    assert "Some **bold**" in sleuth("search", "--json", "bold picture", cwd=tmp_path).stdout
