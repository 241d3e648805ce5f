"""sleuth search: prints the passages that answer a question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.engine import SearchRequest
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import (
    IndexOption,
    JsonOption,
    open_sources,
    print_json,
    warn_of_plugins,
)
from sleuth.surfaces.cli.files import file_of, place
from sleuth.surfaces.cli.hits import print_hits
from sleuth.surfaces.cli.options import request_of, shows_first, takes

if TYPE_CHECKING:
    from sleuth.engine.answers import Answering
    from sleuth.types import Ranking, RetrievedItem

EXAMPLES = """[bold]Examples[/bold]

  sleuth search "how do I rotate a key"
  sleuth search -k 3 --filter "type:markdown" install
  sleuth search '"token bucket" -leaky title:limits'     a phrase, no "leaky", "limits" in the title
  sleuth search --in docs --in code "token bucket"      documents and code; also web and kb:ID
  sleuth search --no-fold-copies "token bucket"  also passages that repeat a better one
  sleuth search --explain "token bucket"         why each passage ranks where it does
  sleuth search --json "token bucket" | jq -r '.items[].file'
"""


FIRST = ("sources", "filter", "k", "sort", "recency", "expand", "rerank", "explain", "json", "index")


@app.command("search", epilog=EXAMPLES, cls=shows_first(*FIRST))
@takes(SearchRequest, syntax=True, fold_copies=True)
def search(
    query: Annotated[list[str], typer.Argument(help="The question; quotes are optional.")],
    options: dict[str, Any],
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Find the passages that answer a question."""
    question = " ".join(query)
    with open_sources(options["sources"], index) as engine:
        warn_of_plugins(engine)
        request = request_of(SearchRequest, question, options)
        ranking = engine.run(request if json else replace(request, explain=True))
        if json:
            print_json(ranking_json(engine, question, ranking))
        else:
            for item in ranking if not request.explain else ():  # it gave the share
                item.extra.pop("explanation", None)
            print_hits(
                question,
                ranking,
                parts=ranking.parts,
                notes=ranking.notes,
                where=lambda item: place(engine, item.id, item.metadata),
                snippet=engine.snippet,
            )
    if not ranking:
        raise typer.Exit(1)


def ranking_json(engine: Answering, query: str, ranking: Ranking) -> dict[str, Any]:
    """Return a ranking with snippets, fit for JSON."""
    return {
        "query": query,
        "items": [item_json(engine, query, item) for item in ranking],
        "parts": [part.to_dict() for part in ranking.parts],
        "notes": list(ranking.notes),
    }


def item_json(engine: Answering, query: str, item: RetrievedItem) -> dict[str, Any]:
    """Return an item with its snippet and the absolute path of its file, fit for JSON."""
    snippet = engine.snippet(query, item)
    file = file_of(engine, item.metadata)
    file_entry = {"file": file} if file else {}
    return {
        **item.to_dict(),
        **file_entry,
        "snippet": {"text": snippet.text, "spans": [list(span) for span in snippet.spans]},
    }
