"""sleuth status: prints counts, sizes and versions of the index."""

from __future__ import annotations

from pathlib import Path
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
from sleuth.surfaces.cli.terminal import console, say
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
        print_code(folder, code)


def print_roots(roots: list[Root], names: FileNames) -> None:
    """Print the roots that were indexed, with their remembered options."""
    say()
    for root in roots:
        options = " ".join(f"{name}={_spelled(value)}" for name, value in root.options.to_dict().items())
        advice = "  gone: `sleuth index --prune` deletes its documents, `sleuth move` renames them"
        say(
            f"root   {shown(names, root.name)}  {clean_text(options)}{advice if root.is_gone else ''}".rstrip()
        )


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}:{_spelled(each)}" for name, each in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def print_code(folder: Path, code: dict[str, Any]) -> None:
    """Print the status of a code index as a small table."""
    from rich.markup import escape
    from rich.table import Table

    facts = Table.grid(padding=(0, 2))
    facts.add_row("code", escape(str(folder)))
    for name, value in code.items():
        if name != "damage":  # found by processes that stay open only
            facts.add_row(name, human_bytes(value) if name == "bytes" else f"{value:,}")
    say()
    console().print(facts)


def print_status(index: dict[str, Any]) -> None:
    """Print the status as two small tables."""
    from rich.markup import escape
    from rich.table import Table

    facts = Table.grid(padding=(0, 2))
    facts.add_row("index", escape(str(index["path"])))
    facts.add_row("documents", f"{index['documents']:,}")
    if "shards" in index:
        facts.add_row("shards", f"{index['shards']:,}")
    facts.add_row("passages", f"{index['passages']:,}")
    facts.add_row("record", human_bytes(index["record_bytes"]))
    facts.add_row("version", f"{index['version']} (format {index['format']})")
    facts.add_row(
        "settings",
        escape(", ".join(f"{name} {value}" for name, value in index["settings"].items() if value != "")),
    )
    if index["reranker"]:
        facts.add_row("reranker", escape(index["reranker"]))
    if index["words_only"]:
        facts.add_row("words only", escape(index["words_only"]))
    if holder := index.get("holder"):
        writer = f"process {holder['pid']} on {holder['host']} ({holder['program']}) since {holder['since']}"
        facts.add_row("writer", escape(clean_text(writer)))
    legs = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("leg", "passages", "segments", "size", "weight"):
        legs.add_column(column, justify="left" if column == "leg" else "right")
    for name, leg in index["legs"].items():
        weight = "" if leg["weight"] is None else f"{leg['weight']:g}"
        legs.add_row(name, f"{leg['passages']:,}", str(leg["segments"]), human_bytes(leg["bytes"]), weight)
    console().print(facts)
    say()
    console().print(legs)
