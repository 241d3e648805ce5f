"""The documentation site has every page, and its links resolve."""

import re
import runpy
from pathlib import Path

import yaml

HOME = Path(__file__).parents[1]
REFERENCE = runpy.run_path(str(HOME / "tools" / "reference.py"))
SITE = runpy.run_path(str(HOME / "tools" / "site.py"))


def contents() -> dict[str, str]:
    """Return the pages of the table of contents with their names."""
    text = (HOME / "docs" / "README.md").read_text("utf8").partition("## Project")[0]
    return {path: name for name, path in re.findall(r"^- \[(.*)\]\((.*)\)$", text, re.MULTILINE)}


def test_the_contents_have_every_page() -> None:
    """The table of contents names each page of docs once, and the index of decisions has every decision."""
    folder = HOME / "docs"
    pages = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.md")
        if path.parent.name not in ("decisions", "reference")
    } | {f"reference/{name}" for name in REFERENCE["WRITERS"]}
    assert contents().keys() == pages - {"README.md"}
    index = (folder / "decisions" / "README.md").read_text("utf8")
    for decision in (folder / "decisions").glob("*.md"):
        assert decision.name == "README.md" or f"]({decision.name})" in index, decision.name


def test_the_site_has_the_pages_of_the_contents() -> None:
    """The navigation has the pages of the contents under their names, those of the root, and the plots."""
    text = (HOME / "mkdocs.yml").read_text("utf8")
    pages = {
        path: name.strip('"') for name, path in re.findall(r"^ +- (.*): ([\w/.-]+\.md)$", text, re.MULTILINE)
    }
    assert contents().items() <= pages.items()
    others = {*SITE["ROOT_PAGES"].values(), "decisions/README.md", "plots.md"}
    assert pages.keys() - contents().keys() == others
    assert set(SITE["ROOT_PAGES"]) - {"docs/README.md"} == {path.name for path in HOME.glob("*.md")}
    assert yaml.safe_load(text)["docs_dir"] == SITE["PAGES"].relative_to(HOME).as_posix()


def test_the_page_for_models_names_pages_of_the_contents() -> None:
    """llms.txt has the pages of the contents under their names, without measurements."""
    text = (HOME / "docs" / "llms.txt").read_text("utf8")
    links = {path: name for name, path in re.findall(r"^- \[(.*)\]\((.*)\)$", text, re.MULTILINE)}
    assert links == {path: name for path, name in contents().items() if not path.startswith("measured/")}


def test_tables_of_pages_are_read() -> None:
    """A table is parsed with its heading, columns and rows, and a number from the beginning of a cell."""
    (table,) = SITE["tables"]("# Speed\n\n| system | ms |\n|---|---|\n| **sleuth** | 1,200.5 (3) |\n")
    assert table == ("Speed", ["system", "ms"], [["sleuth", "1,200.5 (3)"]])
    assert SITE["number"](table.rows[0][1]) == 1200.5
    assert SITE["number"]("–") is None
