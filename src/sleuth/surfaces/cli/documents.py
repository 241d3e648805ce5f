"""sleuth list, show and status; sleuth index delete, facets, move and synonyms: the documents of an index."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from annotated_types import Ge

from sleuth.engine.synonyms import SYNONYMS_FILE, Synonyms
from sleuth.errors import IndexNotFoundError, amount
from sleuth.files import whole_file
from sleuth.surfaces.cli.app import app, index_commands
from sleuth.surfaces.cli.common import Output, human_bytes, one_line, say, styled
from sleuth.surfaces.cli.opening import Index, open_index
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.cli.places import index_folder, shown
from sleuth.text import clean_text

LIST_EXAMPLES = """
  sleuth list                       a line for each document, by id
  sleuth list --filter type:pdf     the documents that match a filter
  sleuth list --json                the same with metadata
"""


@command(app, "list", LIST_EXAMPLES)
def list_documents(
    *,
    filter: Annotated[str | None, "Only documents with a passage that matches."] = None,
    json: bool = False,
    engine: Index,
) -> Output:
    """Print the path or id of each document."""
    entries, total, position = list[dict[str, Any]](), 0, None
    while True:
        page = engine.list_documents(filter=filter, after=position, limit=1_000)
        for document in page.documents:
            if json:
                entries.append({"id": document.id, "metadata": dict(document.metadata)})
            else:
                is_file = "path" in document.metadata
                say(shown(engine.files, document.id) if is_file else one_line(document.id))
        total += len(page.documents)
        if (position := page.after) is None:
            notes = engine.retrieve("?", 1, filter=filter).notes if filter and not total else ()
            missing = "no document matches; `sleuth index facets` shows keys and values" if filter else ""
            return Output(entries, found=total, missing="; ".join(notes) or missing)


SHOW_EXAMPLES = """
  sleuth show docs/guide.md         a whole document, by its path or id
  sleuth show docs/guide.md:10-20   the passages with these lines, as search prints them
  sleuth show docs/guide.md#3       one passage of it, as search --json names it
"""


@command(app, "show", SHOW_EXAMPLES)
def show(
    id: Annotated[str, "A path or document id, or one passage of it (document#n)."], *, engine: Index
) -> Output:
    """Print a passage or a document with its metadata."""
    from sleuth.engine.reading import passages_of

    items = passages_of(engine, id)
    lines = []
    for item in items:
        metadata = [styled(f"  {name}: {value}", "dim") for name, value in item.metadata.items()]
        lines += [styled(item.id, "head"), *metadata, item.text + "\n"]
    return Output(items, lines)


DELETE_EXAMPLES = """
  sleuth index delete docs/old.md          a file with all of its rows, or a folder, or a document by its id,
                                     which `sleuth search --json` prints before the last '#'
"""


@command(index_commands, "delete", DELETE_EXAMPLES)
def delete(
    ids: Annotated[list[str], "Files, folders or document ids."],
    *,
    timeout: Annotated[float, Ge(0)] = 10.0,  # as by default in `Engine.delete`
    engine: Index,
) -> Output:
    """Delete documents; their text leaves the disk. Files themselves are not touched."""
    from sleuth.engine.reading import documents_at

    documents_by_id = {id: documents_at(engine, id) for id in ids}
    deleted = engine.delete(chain.from_iterable(documents_by_id.values()), timeout=timeout)
    missing = [id for id, documents in documents_by_id.items() if not set(deleted).intersection(documents)]
    return Output(
        {"deleted": deleted, "missing": missing},
        [f"Deleted {amount(len(deleted), 'document')}."],
        found=not missing,
        missing=f"no document {', '.join(map(repr, missing))} in this index",
    )


FACETS_EXAMPLES = """
  sleuth index facets                           every metadata key, with its five most frequent values
  sleuth index facets type language -k 20       more values of two keys
  sleuth index facets --filter "year>=2020"     of the documents that match a filter
  sleuth index facets --query bucket type       of the documents that hold a word
  sleuth index facets --json | jq '.keys[].key'
"""


@command(index_commands, "facets", FACETS_EXAMPLES)
def facets(
    keys: Annotated[
        list[str] | None, "Metadata keys, as filters write them. Default: all those of documents."
    ] = None,
    *,
    filter: Annotated[str | None, "Only documents with a passage that matches."] = None,
    query: Annotated[str | None, "Only documents with a passage that holds a word of it."] = None,
    k: Annotated[int, "Values of each key.", Ge(1)] = 5,
    engine: Index,
) -> Output:
    """Show which values the metadata of documents has, and how many documents have each."""
    from sleuth.engine.narrowing import OF_PASSAGES
    from sleuth.filters import all_of, as_filter, field

    tree = as_filter(filter)
    types_by_key = {key.name: list(key.types) for key in engine.metadata_keys(tree)}
    names = list(dict.fromkeys(keys or [name for name in types_by_key if name not in OF_PASSAGES]))
    values = engine.facets(names, query=query, filter=tree, limit=k) if names else {}
    entries: list[dict[str, Any]] = []
    lines = []
    for name in names:
        types = types_by_key.get(name, [])
        documents = engine.count(all_of(tree, field(name).exists()), query=query).documents
        rows = [facet._asdict() for facet in values[name]]
        entries.append({"key": name, "types": types, "documents": documents, "values": rows})
        facts = [*(types or ["no document has it"]), *([amount(documents, "document")] if documents else [])]
        lines.append(f"{styled(clean_text(name), 'head')}  {styled(', '.join(facts), 'dim')}")
        if len(rows) > 1 and rows[0]["documents"] == 1:
            lines.append(f"   a value of its own for each document, such as {_spelled(rows[0]['value'])}")
        else:
            lines += [f"{facet['documents']:>8,}  {_spelled(facet['value'])}" for facet in rows]
    return Output({"keys": entries}, lines, found=any(entry["values"] for entry in entries))


def _spelled(value: Any) -> str:
    """Return a value in one line, as filters write booleans."""
    if isinstance(value, dict):
        return ",".join(f"{name}:{_spelled(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return ",".join(map(_spelled, value))
    return one_line(str(value).lower() if isinstance(value, bool) else value)


MOVE_EXAMPLES = """
  mv docs manual && sleuth index move docs manual          nothing is read again
"""


@command(index_commands, "move", MOVE_EXAMPLES)
def move(
    old: Annotated[Path, "The path before."],
    new: Annotated[Path, "The path now."],
    *,
    timeout: Annotated[float, Ge(0)] = 10.0,  # as by default in `Engine.move`
    engine: Index,
) -> Output:
    """Give documents of a renamed file or folder its new name. Files themselves are not touched."""
    report = engine.move(old, new, timeout=timeout)
    lines = [f"Moved {amount(report.moved, 'document')}."]
    if report.replaced:
        lines.append(f"Deleted {report.replaced:,} that the index holds under the new name already.")
    return Output(report._asdict(), lines)


SYNONYMS_EXAMPLES = """
  sleuth index synonyms words.txt      of this file, with lines such as "k8s, kubernetes" and "js => javascript"
  sleuth index synonyms                print those of the index
  sleuth index synonyms --remove       use none
"""


@command(index_commands, "synonyms", SYNONYMS_EXAMPLES)
def synonyms(
    file: Annotated[Path | None, "File with a group of synonyms on each line."] = None,
    *,
    remove: Annotated[bool, "Remove those of the index."] = False,
    index: Path | None = None,
) -> None:
    """Give an index words that stand for each other in searches."""
    from sleuth.engine import Engine

    with Engine.open(index_folder(index), synonyms={}) as engine:  # those that it has may be invalid
        place = engine.path / SYNONYMS_FILE
        if remove:
            with engine.store.writer():
                place.unlink(missing_ok=True)
        elif file is not None:
            count = len(Synonyms.read(file))
            with engine.store.writer(), whole_file(place) as out:
                out.write(file.read_bytes())
            restart = "a server that is running reads them when it starts again"
            say(f"Words and phrases that have synonyms: {count:,}; {restart}.")
        elif place.is_file():
            say(clean_text(place.read_text("utf-8-sig")).rstrip())
        else:
            say("This index has no synonyms: `sleuth index synonyms FILE` gives it some.", err=True)
            raise typer.Exit(1)


@command(app, "status", "sleuth status --json")
def status(*, index: Path | None = None) -> Output:
    """Show counts, sizes and versions of the indexes of documents and code."""
    from sleuth.cluster.places import address_of
    from sleuth.engine.codebase import code_status, has_code

    folder = index_folder(index)
    code = code_status(folder)._asdict() if has_code(folder) else {}
    documents: dict[str, Any] = {"path": str(folder)}
    lines: list[str] = []
    try:
        with open_index(index) as engine:
            roots = engine.roots()
            documents = {**engine.status(), "roots": [root.to_dict() for root in roots]}
            documents["path"] = address_of(folder) or documents["path"]  # its own is that of a cache
            lines = [*_lines_of_status(documents), *([""] if roots else [])]
            for root in roots:
                options = " ".join(
                    f"{name}={_spelled(value)}" for name, value in root.options.to_dict().items()
                )
                path = shown(engine.files, root.name)
                prune = f"sleuth index --prune {shlex.quote(path)}"
                advice = f"  gone: `{prune}` deletes its documents, `sleuth index move` renames them"
                line = f"root   {path}  {clean_text(options)}"
                lines.append(f"{line}{advice if root.is_gone else ''}".rstrip())
    except IndexNotFoundError:
        if not code:
            raise
    if code:
        # Damage is found by processes that stay open only.
        counts = {name: n for name, n in code.items() if name != "damage"}
        sizes = {name: human_bytes(n) if name == "bytes" else f"{n:,}" for name, n in counts.items()}
        lines += _lines_of_facts({"code": str(folder), **sizes})
    return Output(documents | ({"code": code} if code else {}), lines)


def _lines_of_facts(facts: Mapping[str, str]) -> Iterator[str]:
    """Yield an empty line, then a line for each fact that is not empty."""
    width = max(map(len, facts))
    yield ""
    yield from (f"{name:<{width}}  {clean_text(value)}" for name, value in facts.items() if value)


def _lines_of_status(index: dict[str, Any]) -> Iterator[str]:
    """Yield the facts about an index, then a line for each leg."""
    settings = (f"{name} {value}" for name, value in index["settings"].items() if value != "")
    holder = index.get("holder")
    yield from _lines_of_facts(
        {
            "index": str(index["path"]),
            "documents": f"{index['documents']:,}",
            "shards": f"{index['shards']:,}" if "shards" in index else "",
            "passages": f"{index['passages']:,}",
            "record": human_bytes(index["record_bytes"]),
            "version": f"{index['version']} (format {index['format']})",
            "settings": ", ".join(settings),
            "reranker": index["reranker"],
            "words only": index["words_only"],
            "writer": "process {pid} on {host} ({program}) since {since}".format_map(holder)
            if holder
            else "",
        }
    )
    yield f"\n{'leg':<10} {'passages':>12} {'segments':>9} {'size':>9} {'weight':>7}"
    for name, leg in index["legs"].items():
        weight = "" if leg["weight"] is None else f"{leg['weight']:g}"
        sizes = f"{leg['passages']:>12,} {leg['segments']:>9} {human_bytes(leg['bytes']):>9} {weight:>7}"
        yield f"{name:<10} {sizes}".rstrip()
