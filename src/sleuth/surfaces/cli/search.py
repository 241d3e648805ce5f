"""sleuth search: which passages answer this question?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, console, open_index, print_json

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from sleuth.engine import Engine
    from sleuth.types import Explanation, RetrievedItem

EXAMPLES = """[bold]Examples[/bold]

  sleuth search "how do I rotate a key"
  sleuth search -k 3 --filter "path:docs/ type:markdown" install
  sleuth search --explain "token bucket"         why each passage ranks where it does
  sleuth search --json "token bucket" | jq -r '.items[].metadata.path'
"""


@app.command("search", epilog=EXAMPLES)
def search(
    query: Annotated[list[str], typer.Argument(help="The question; quotes are optional.")],
    k: Annotated[int, typer.Option("-k", "--limit", min=0, help="How many passages.")] = 5,
    filter: Annotated[
        str | None,
        typer.Option("--filter", "-f", help='Which passages may answer, as in "year>=2020 lang:en".'),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score comes about.")] = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Find the passages that answer a question."""
    question = " ".join(query)
    with open_index(index) as engine:
        ranking = engine.retrieve(question, k, filter=filter, explain=explain)
        if json:
            items = [item_json(engine, question, item) for item in ranking]
            print_json(
                {"query": question, "items": items, "parts": [part.to_dict() for part in ranking.parts]}
            )
        else:
            for number, item in enumerate(ranking, 1):
                print_item(engine, question, number, item)
            for part in ranking.failures:
                console(stderr=True).print(f"sleuth: {part.name} {part.status}: {part.error}", markup=False)
            if not ranking:
                console(stderr=True).print("Nothing found.")
    if not ranking:
        raise typer.Exit(1)


def place(item: RetrievedItem) -> str:
    """Where a passage stands: path, page and lines."""
    metadata = item.metadata
    where = str(metadata.get("path") or metadata.get("source") or item.id)
    if metadata.get("page"):
        where += f" p.{metadata['page']}"
    if metadata.get("start_line"):
        where += f":{metadata['start_line']}-{metadata['end_line']}"
    return where


def item_json(engine: Engine, query: str, item: RetrievedItem) -> dict[str, Any]:
    """An item with its snippet, fit for JSON."""
    found = engine.snippet(query, item)
    return {**item.to_dict(), "snippet": {"text": found.text, "spans": [list(span) for span in found.spans]}}


def snippet_text(engine: Engine, query: str, item: RetrievedItem, width: int) -> Text:
    """The best window of a passage, matches in bold."""
    from rich.text import Text

    found = engine.snippet(query, item, width=width)
    text = Text(found.text)
    for start, end in found.spans:
        text.stylize("bold yellow", start, end)
    return text


def print_item(engine: Engine, query: str, number: int, item: RetrievedItem) -> None:
    """One hit: a line that says where, and a snippet below it."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    score = f"{item.score:.2f}" if item.score is not None else ""
    head = Text.assemble((f"{number:>2} ", "dim"), (place(item), "bold cyan"), ("  " + score, "dim"))
    heading = str(item.metadata.get("heading") or item.metadata.get("title") or "")
    out.print(head, soft_wrap=True)
    if heading:
        out.print(Padding(Text(heading, style="italic", overflow="ellipsis", no_wrap=True), (0, 0, 0, 3)))
    out.print(Padding(snippet_text(engine, query, item, width=3 * (out.width - 4)), (0, 0, 0, 3)))
    if item.explanation is not None:
        out.print(Padding(explanation_tree(item.explanation), (0, 0, 0, 3)))
    out.print()


def explanation_tree(explanation: Explanation) -> Tree:
    """An explanation, drawn."""
    from rich.text import Text
    from rich.tree import Tree

    def label(part: Explanation) -> Text:
        facts = ", ".join(
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in part.facts.items()
        )
        return Text.assemble(
            (f"{part.value:.4f} ", "bold"),
            part.name,
            (f"  {facts}" if facts else "", "dim"),
            (f"  {part.formula}" if part.formula else "", "dim italic"),
        )

    def grow(branch: Tree, part: Explanation) -> Tree:
        for below in part.parts:
            grow(branch.add(label(below)), below)
        return branch

    return grow(Tree(label(explanation)), explanation)
