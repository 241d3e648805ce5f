"""The documentation site has every page, and its links resolve."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import yaml

HOME = Path(__file__).parents[1]
SITE = runpy.run_path(str(HOME / "tools" / "site.py"))
GENERATED = {"plots.md"}


def pages() -> list[Path]:
    """Return the pages that people write."""
    return [*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md")]


def test_every_page_is_in_the_site() -> None:
    """The navigation has every guide and page of the root; the index of decisions has every decision."""
    text = (HOME / "mkdocs.yml").read_text("utf8")
    pages = re.findall(r": ([\w/.-]+\.md)$", text.split("\nnav:")[1], re.MULTILINE)
    folder = HOME / "docs"
    guides = {
        str(path.relative_to(folder)) for path in folder.rglob("*.md") if path.parent.name != "decisions"
    }
    assert sorted(pages) == sorted({*guides, *SITE["ROOT_PAGES"].values(), *GENERATED, "decisions/README.md"})
    assert set(SITE["ROOT_PAGES"]) == {path.name for path in HOME.glob("*.md")}
    index = (HOME / "docs" / "decisions" / "README.md").read_text("utf8")
    for decision in (HOME / "docs" / "decisions").glob("*.md"):
        assert decision.name == "README.md" or f"]({decision.name})" in index, decision.name
    assert yaml.safe_load(text)["docs_dir"] == SITE["PAGES"].relative_to(HOME).as_posix()


def test_relative_links_lead_to_files() -> None:
    """Every relative link of every page is a file."""
    for page in pages():
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf8")):
            assert (page.parent / link).exists(), f"{page.relative_to(HOME)}: {link}"


def test_the_page_for_models_names_pages_of_the_site() -> None:
    """Each link of llms.txt is a page that the navigation has."""
    text = (HOME / "mkdocs.yml").read_text("utf8")
    links = re.findall(r"\]\(([^)]+)\)", (HOME / "docs" / "llms.txt").read_text("utf8"))
    assert links and [link for link in links if f": {link}\n" not in text] == []


def test_tables_of_pages_are_read() -> None:
    """A table is parsed with its heading, columns and rows, and a number from the beginning of a cell."""
    (table,) = SITE["tables"]("# Speed\n\n| system | ms |\n|---|---|\n| **sleuth** | 1,200.5 (3) |\n")
    assert table == ("Speed", ["system", "ms"], [["sleuth", "1,200.5 (3)"]])
    assert SITE["number"](table.rows[0][1]) == 1200.5
    assert SITE["number"]("–") is None
