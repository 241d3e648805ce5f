"""sleuth status: prints counts, sizes and versions of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sleuth.errors import IndexNotFoundError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import (
    IndexOption,
    JsonOption,
    human_bytes,
    open_index,
    print_json,
)
from sleuth.surfaces.cli.files import shown
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.ingest import FileNames
    from sleuth.ingest.roots import Root


@app.command("status", epilog="[bold]Example[/bold]  sleuth status --json")
def status(json: JsonOption = False, index: IndexOption = None) -> None:
    """Show counts, sizes and versions of the indexes of documents and code."""
    from sleuth.engine.codebase import code_status, has_code

    folder = index_folder(index)
    code = code_status(folder)._asdict() if has_code(folder) else None
    documents: dict[str, Any] | None = None
    roots: list[Root] = []
    names = None
    try:
        with open_index(index) as engine:
            roots, names = engine.roots(), engine.files
            documents = {**engine.status(), "roots": [root.to_dict() for root in roots]}
    except IndexNotFoundError:
        if code is None:
            raise
    if json:
        print_json({**(documents or {"path": str(folder)}), **({"code": code} if code else {})})
        return
    if documents:
        print_status(documents)
    if roots and names:
        print_roots(roots, names)
    if code:
        # Found by processes that stay open only.
        counts = {name: n for name, n in code.items() if name != "damage"}
        sizes = {name: human_bytes(n) if name == "bytes" else f"{n:,}" for name, n in counts.items()}
        print_facts({"code": str(folder), **sizes})


def print_roots(roots: list[Root], names: FileNames) -> None:
    """Print the roots that were indexed, with their remembered options."""
    say()
    for root in roots:
        options = " ".join(f"{name}={_spelled(value)}" for name, value in root.options.to_dict().items())
        advice = "  gone: `sleuth index --prune` deletes its documents, `sleuth index move` renames them"
        say(
            f"root   {shown(names, root.name)}  {clean_text(options)}{advice if root.is_gone else ''}".rstrip()
        )


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}:{_spelled(entry)}" for name, entry in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def print_facts(facts: dict[str, str]) -> None:
    """Print a line for each fact that is not empty, below an empty line."""
    width = max(map(len, facts))
    say()
    for name, value in facts.items():
        if value:
            say(f"{name:<{width}}  {clean_text(value)}")


def print_status(index: dict[str, Any]) -> None:
    """Print the status, and a line for each leg."""
    settings = (f"{name} {value}" for name, value in index["settings"].items() if value != "")
    holder = index.get("holder")
    facts = {
        "index": str(index["path"]),
        "documents": f"{index['documents']:,}",
        "shards": f"{index['shards']:,}" if "shards" in index else "",
        "passages": f"{index['passages']:,}",
        "record": human_bytes(index["record_bytes"]),
        "version": f"{index['version']} (format {index['format']})",
        "settings": ", ".join(settings),
        "reranker": index["reranker"],
        "words only": index["words_only"],
        "writer": "process {pid} on {host} ({program}) since {since}".format_map(holder) if holder else "",
    }
    print_facts(facts)
    say(f"\n{'leg':<10} {'passages':>12} {'segments':>9} {'size':>9} {'weight':>7}")
    for name, leg in index["legs"].items():
        weight = "" if leg["weight"] is None else f"{leg['weight']:g}"
        sizes = f"{leg['passages']:>12,} {leg['segments']:>9} {human_bytes(leg['bytes']):>9} {weight:>7}"
        say(f"{name:<10} {sizes}".rstrip())
