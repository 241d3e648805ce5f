"""Texts are read as people see them: ligatures, overstruck letters and MDX."""

from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.files import FileFormat
from sleuth.files.formats import BUILT_IN
from sleuth.ingest import ReadOptions
from sleuth.types import Document
from tests.ingest.extraction.reading import only
from tests.ingest.files import pdf_of


def test_ligatures_of_latex(tmp_path: Path) -> None:
    """Codes 27 to 31 of fonts that name no characters are the ligatures of T1."""
    page = "BT /F1 12 Tf (o\\036ce \\034nd o\\033 \\035ow wa\\037e) Tj ET"
    (tmp_path / "a.pdf").write_bytes(pdf_of(page, "/Font << /F1 3 0 R >>", []))
    assert only(tmp_path / "a.pdf").page_content == "office find off flow waffle"


def test_overstruck_letters_stand_once(tmp_path: Path) -> None:
    """A letter over itself is bold, one over an underscore underlined."""
    (tmp_path / "a.txt").write_text("N\bNA\bAM\bME\bE\n  _\bf_\bo - x\bx\bxy \bz\n\b\n")
    assert only(tmp_path / "a.txt").page_content == "NAME\n  fo - xyz\n\n"


def test_mdx_has_its_words_alone(tmp_path: Path) -> None:
    """Imports, exports, components and comments are blank, code stays, and lines keep their numbers."""
    source = (
        "---\ntitle: T\n---\nimport {\n  A,\n} from 'b';\n\nexport const x = 1;\n\n# Head\n\n<Tabs a=\"b\"\n  c={1}>\n"
        "Words <Icon name='x' /> here, a < b.\n\n{/* no */}\n```js\nimport stays from 'x';\n<Stays />\n```\n</Tabs>\n"
    )
    (tmp_path / "a.mdx").write_text(source)
    text = only(tmp_path / "a.mdx").page_content
    assert text.count("\n") == source.count("\n")
    words = ["# Head", "Words  here, a < b.", "```js", "import stays from 'x';", "<Stays />", "```"]
    assert list(filter(None, text.split("\n"))) == words


@pytest.mark.parametrize("has_lines", [True, False])
def test_a_format_says_whether_it_has_the_lines_of_the_file(tmp_path: Path, has_lines: bool) -> None:
    """Passages of a loader have lines if its format says that they are those of the file."""

    def load(file: object, options: ReadOptions) -> list[Document]:
        return [Document("fourth line of words")]

    (tmp_path / "a.note").write_text("\n\n\nfourth line of words")
    options = ReadOptions(loaders=[FileFormat("note", load, [".note"], has_lines=has_lines)])
    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as engine:
        engine.index([tmp_path], options=options)
        (item,) = engine.retrieve("fourth")
        assert ("start_line" in item.metadata) == has_lines


def test_formats_that_a_process_extracts_have_no_lines() -> None:
    """A text that was extracted, or a row, has no lines of the file; source code and Markdown have."""
    assert not any(one.has_lines for one in BUILT_IN.values() if one.extract or one.form in ("rows", "files"))
    assert all(one.has_lines for one in BUILT_IN.values() if one.form == "code")
