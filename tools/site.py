"""Gather the pages of the site in build/pages: those of docs, files of the root, and plots.

python tools/site.py
python tools/site.py speed    # draw docs/speed.svg, the picture of the README
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parents[1]
PAGES = HOME / "build" / "pages"
ROOT_PAGES = {
    "README.md": "index.md",
    "docs/README.md": "contents.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
FAR_APART = 50
"""Bars of which one is that many times another need a logarithmic scale."""

WIDE = """@media screen and (min-width: 76.25em) { .md-grid { max-width: 76rem; } }
.md-typeset table:not([class]) { font-size: .62rem; }
"""


class Table(NamedTuple):
    """A table of a page: its heading, names of columns and rows of cells."""

    heading: str
    columns: list[str]
    rows: list[list[str]]


def site_links(text: str, page: Path) -> str:
    """Return the text of a page with its links to other pages as the site has them."""
    folder = site_path(page).parent

    def replaced(match: re.Match[str]) -> str:
        target = (page.parent / match[1]).resolve()
        return f"]({os.path.relpath(site_path(target), folder)}" if target.is_file() else match[0]

    return re.sub(r"\]\(([^)#:\s]+)", replaced, text)


def site_path(page: Path) -> Path:
    """Return where the site has a page of this repository."""
    name = str(page.relative_to(HOME))
    return PAGES / ROOT_PAGES.get(name, name.removeprefix("docs/"))


def tables(text: str) -> list[Table]:
    """Return the tables of a page, each with the nearest heading above it."""
    result: list[Table] = []
    heading = ""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif corpus := re.match(r"[\d,]+ passages", line):
            heading = f"{heading.partition(' (')[0]} ({corpus[0]})"
        if line.startswith("|"):
            block.append(line)
        elif block:
            cells = [[cell.strip(" *") for cell in row.strip("|").split("|")] for row in block]
            result.append(Table(heading, cells[0], cells[2:]))
            block = []
    return result


def number(cell: str) -> float | None:
    """Return the number that a cell begins with."""
    match = re.match(r"[-+]?[\d,]*\.?\d+", cell)
    return float(match[0].replace(",", "")) if match else None


def draw(table: Table, column: int, title: str, path: Path) -> None:
    """Draw one column of a table as bars."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    pairs = [(row[0], value) for row in table.rows if (value := number(row[column])) is not None]
    values = [value for _, value in pairs]
    figure, axes = pyplot.subplots(figsize=(7, 0.5 + 0.4 * len(pairs)), layout="constrained")
    bars = axes.barh(
        [name for name, _ in pairs],
        values,
        color=["#3f51b5" if name.endswith("sleuth") else "#9fa8da" for name, _ in pairs],
    )
    logarithmic = max(values) > FAR_APART * min(values)
    if logarithmic:
        axes.set_xscale("log")
    axes.bar_label(bars, padding=3)
    axes.invert_yaxis()
    axes.set_title(title + " (logarithmic scale)" * logarithmic, loc="left", fontsize=10)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.xaxis.set_visible(False)
    axes.margins(x=0.12)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def plots(folder: Path) -> str:
    """Draw the tables of the benchmarks and of the rankings; return the page that shows them."""
    folder.mkdir(parents=True)
    page = [
        "# Plots",
        "Drawn from the tables of [speed](measured/speed.md) and [quality](measured/quality.md).",
    ]
    speed = [
        table
        for table in tables((HOME / "docs" / "measured" / "speed.md").read_text("utf8"))
        if "system" in table.columns[0]
    ]
    for at, table in enumerate(speed):
        for column, name in enumerate(table.columns):
            if any(words in name for words in ("ids, top 10", "build s", "peak MB")):
                draw(table, column, f"{table.heading}: {name}", folder / f"speed-{at}-{column}.svg")
                page.append(f"![{table.heading}: {name}](plots/speed-{at}-{column}.svg)")
    for at, table in enumerate(tables((HOME / "docs" / "measured" / "quality.md").read_text("utf8"))):
        mean = next((row for row in table.rows if row[0].startswith("mean of the 10")), None)
        if mean:
            columns = [i for i in range(1, len(mean)) if number(mean[i]) is not None]
            turned = Table(table.heading, ["system", "mean"], [[table.columns[i], mean[i]] for i in columns])
            title = f"{table.columns[0]}, {mean[0]}"
            draw(turned, 1, title, folder / f"quality-{at}.svg")
            page.append(f"![{title}](plots/quality-{at}.svg)")
    return "\n\n".join(page) + "\n"


def draw_questions(path: Path) -> None:
    """Draw how long natural questions take with texts."""
    table = tables((HOME / "docs" / "measured" / "speed.md").read_text("utf8"))[0]
    rows = [[row[0].replace("questions: ", ""), *row[1:]] for row in table.rows if "questions" in row[0]]
    title = "Natural questions, ten hits with texts, by number of passages: ms"
    draw(table._replace(rows=rows), 1, title, path)


def main() -> None:
    """Write all pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(HOME / "docs", PAGES)
    (PAGES / "README.md").unlink()  # the start page takes its place, and this one another name
    for page in [*(HOME / "docs").rglob("*.md"), *(HOME / name for name in ROOT_PAGES)]:
        site_path(page).write_text(site_links(page.read_text("utf8"), page), "utf8")
    (PAGES / "plots.md").write_text(plots(PAGES / "plots"), "utf8")
    (PAGES / "wide.css").write_text(WIDE, "utf8")


if __name__ == "__main__":
    if sys.argv[1:] == ["speed"]:
        draw_questions(HOME / "docs" / "speed.svg")
    else:
        main()
