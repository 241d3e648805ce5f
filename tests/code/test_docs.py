"""The tables of the pages about code are true."""

from pathlib import Path

from sleuth.code.parsing.languages import LANGUAGES
from sleuth.code.search import filters, ranking

DOCS = Path(__file__).parents[2] / "docs"
TEXT = "".join((DOCS / page).read_text("utf-8") for page in ("how-to/index-code.md", "concepts/code.md"))
MEASURED = (DOCS / "measured" / "code.md").read_text("utf-8")


def test_weights_and_filters_are_those_of_the_code() -> None:
    """The table of signals has the current weights; every filter and language is named."""
    for name, weight in (ranking.WEIGHTS | {"meaning": ranking.MEANING}).items():
        (row,) = (line for line in MEASURED.split("\n") if line.startswith(f"|{name}|{weight:.2f}|"))
        short = str((ranking.SHORT | {"meaning": ranking.SHORT_MEANING}).get(name, "")).removeprefix("0")
        assert ("short query" in row) == bool(short)
        assert short in row
    for key in filters.KEYS:
        assert f"`{key}`" in TEXT
    for name, language in LANGUAGES.items():
        if language.package:
            spelled = {"csharp": "C#", "cpp": "C++", "php": "PHP", "tsx": "TSX"}.get(name, name.capitalize())
            assert spelled.lower() in TEXT.lower()
