"""sleuth index facets: prints the metadata keys of an index and their most frequent values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.surfaces.cli.app import index_commands
from sleuth.surfaces.cli.common import IndexOption, JsonOption, open_index, print_json
from sleuth.surfaces.cli.terminal import amount, say, styled
from sleuth.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sleuth.engine import Engine
    from sleuth.filters import Filter

EXAMPLES = """[bold]Examples[/bold]

  sleuth index facets                           every metadata key, with its five most frequent values
  sleuth index facets type language -k 20       more values of two keys
  sleuth index facets --filter "year>=2020"     of the documents that match a filter
  sleuth index facets --query bucket type       of the documents that hold a word
  sleuth index facets --json | jq '.keys[].key'
"""


@index_commands.command("facets", epilog=EXAMPLES)
def facets(
    keys: Annotated[
        list[str] | None,
        typer.Argument(help="Metadata keys, as filters write them. Default: all those of documents."),
    ] = None,
    filter: Annotated[
        str | None, typer.Option("--filter", "-f", help="Only documents with a passage that matches.")
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", help="Only documents with a passage that holds a word of it.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--limit", min=1, help="Values of each key.")] = 5,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Show which values the metadata of documents has, and how many documents have each."""
    from sleuth.filters import as_filter

    with open_index(index) as engine:
        entries = facets_of(engine, keys, as_filter(filter), query, k)
    if json:
        print_json({"keys": entries})
    else:
        for entry in entries:
            print_key(entry)
    if not any(entry["values"] for entry in entries):
        raise typer.Exit(1)


def facets_of(
    engine: Engine, keys: Iterable[str] | None, filter: Filter | None, query: str | None, k: int
) -> list[dict[str, Any]]:
    """Return keys with the types of their values, their documents and their most frequent values, fit for JSON."""
    from sleuth.engine.narrowing import OF_PASSAGES

    described = {key.name: key for key in engine.metadata_keys(filter)}
    names = list(dict.fromkeys(keys or [name for name in described if name not in OF_PASSAGES]))
    values = engine.facets(names, query=query, filter=filter, limit=k) if names else {}
    return [
        {
            "key": name,
            "types": list(described[name].types) if name in described else [],
            "documents": described[name].documents if name in described else 0,
            "values": [facet._asdict() for facet in values[name]],
        }
        for name in names
    ]


def print_key(entry: dict[str, Any]) -> None:
    """Print a key, then a line for each value with the documents that have it."""
    types = ", ".join(entry["types"]) or "no document has it"
    documents = f", {amount(entry['documents'], 'document')}" if entry["documents"] else ""
    say(f"{styled(clean_text(entry['key']), 'head')}  {styled(types + documents, 'dim')}")
    values = entry["values"]
    if len(values) > 1 and values[0]["documents"] == 1:
        say(f"   a value of its own for each document, such as {spelled(values[0]['value'])}")
        return
    for facet in values:
        say(f"{facet['documents']:>8,}  {spelled(facet['value'])}")


def spelled(value: Any) -> str:
    """Return a value in one line, as filters write booleans."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return clean_text(" ".join(text.split()))
