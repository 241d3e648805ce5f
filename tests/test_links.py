"""Links of all pages lead to files and headings that are there."""

import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
REFERENCE = HOME / "docs" / "reference"
"""Written by `make reference`; `test_reference.py` checks links to it."""
PAGES = [
    *sorted(HOME.glob("*.md")),
    *sorted(path for path in (HOME / "docs").rglob("*.md") if path.parent != REFERENCE),
    *sorted((HOME / "benchmarks").rglob("*.md")),
    *sorted((HOME / "examples").rglob("*.md")),
]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]*(?:\([^()\s]*\))?[^()\s]*)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(HOME)))
def test_links_of_a_page_resolve(page: Path) -> None:
    """Each relative link is a file, and each anchor a heading of that file."""
    for link in LINK.findall(CODE.sub("", page.read_text("utf8"))):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if file.parent == REFERENCE:
            continue
        assert file.exists(), f"{link} leads to no file"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{link} leads to no heading"
