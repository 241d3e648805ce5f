"""sleuth list: prints the documents of an index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, open_index, print_json
from sleuth.surfaces.cli.files import filter_from_here, from_here, shown
from sleuth.surfaces.cli.terminal import amount, say, styled
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.types import StoredDocument

EXAMPLES = """[bold]Examples[/bold]

  sleuth list                       a line for each document, by id
  sleuth list --filter type:pdf     the documents that match a filter
  sleuth list --summary             how many documents of each type, language and folder
  sleuth list --json                the same with metadata
"""
_PAGE: Final = 1_000


@app.command("list", epilog=EXAMPLES)
def list_documents(
    filter: Annotated[
        str | None, typer.Option("--filter", "-f", help="Only documents with a passage that matches.")
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Count documents by type, language and folder instead.")
    ] = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Print the path or id of each document."""
    total = 0
    with open_index(index) as engine:
        if summary:
            counts = summary_of(engine, filter)
            if json:
                print_json(counts)
            else:
                print_summary(counts)
            raise typer.Exit(0 if counts["documents"] else 1)
        documents = _documents(engine, filter)
        if json:
            entries = [{"id": each.id, "metadata": dict(each.metadata)} for each in documents]
            print_json(entries)
            total = len(entries)
        else:
            for total, document in enumerate(documents, 1):  # noqa: B007  # the last number counts them
                is_file = "path" in document.metadata
                say(shown(engine.files, document.id) if is_file else clean_text(document.id))
    if not total:
        raise typer.Exit(1)


def summary_of(engine: Engine, filter: str | None) -> dict[str, Any]:
    """Count documents by type, language and folder, the most frequent first; fit for JSON."""
    tree = filter_from_here(engine, filter)
    count = engine.count(tree)
    values = engine.facets(["type", "language", "path"], filter=tree, limit=count.documents)
    files = {engine.files.path_of(str(facet.value)): facet.documents for facet in values["path"]}
    top = os.path.commonpath([os.path.dirname(file) for file in files]) if files else ""  # noqa: PTH120
    folders = Counter[str]()
    for file, documents in files.items():
        below = os.path.relpath(file, top).rpartition("/")[0].partition("/")[0]
        folders[from_here(os.path.join(top, below).rstrip("/"), engine.files.base)] += documents  # noqa: PTH118
    return {
        "documents": count.documents,
        "passages": count.passages,
        **{
            f"{key}s": {str(each.value): each.documents for each in values[key]}
            for key in ("type", "language")
        },
        "folders": {name: folders[name] for name in sorted(folders, key=lambda name: (-folders[name], name))},
    }


def print_summary(counts: dict[str, Any]) -> None:
    """Print the counts, a line for each value."""
    say(f"{amount(counts['documents'], 'document')}, {amount(counts['passages'], 'passage')}")
    for name in ("types", "languages", "folders"):
        if counts[name]:
            say(styled(name, "head"))
        for value, documents in counts[name].items():
            say(f"{documents:>8,}  {clean_text(' '.join(value.split()))}")


def _documents(engine: Engine, filter: str | None) -> Iterator[StoredDocument]:
    """Yield the documents that match a filter, by id."""
    tree, after = filter_from_here(engine, filter), None
    while True:
        page = engine.list_documents(filter=tree, after=after, limit=_PAGE)
        yield from page.documents
        after = page.after
        if after is None:
            return
