"""The seven tools: what each answers, as JSON within a budget of tokens."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from sleuth.arguments import MOST_NAME, MOST_QUERY, check_count, check_name, check_names
from sleuth.engine import SearchRequest
from sleuth.engine.every_line import matching_lines
from sleuth.engine.reading import FetchedText, code_text, document_text, within
from sleuth.engine.workspace import NOTHING_SEEN
from sleuth.errors import ArgumentError, RetrievalError, UnknownSnapshotError
from sleuth.surfaces.cursors import cursor_of, offset_of, written
from sleuth.surfaces.hits import web_address
from sleuth.surfaces.mcp import items
from sleuth.surfaces.mcp.items import Fields, fit, fit_text, tokens_of, write
from sleuth.surfaces.mcp.schemas import ANSWER_TOKENS, LEAST_TOKENS, MOST_RESULTS, PAGE_TOKENS, ToolSchema
from sleuth.surfaces.operations import Operation, operations
from sleuth.types import Ranking
from sleuth.types.request import DEFAULT_K

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.engine import Workspace
    from sleuth.filters import Filter

Name = Annotated[str, Field(max_length=MOST_NAME)]

_NAMES_OF_K = ("limit", "top_k")
"""What other tools call `k`: models write it unasked."""

_AROUND = 100
"""Pieces of the files of its results that a search compares at most."""

_PLACE = re.compile(r"(?P<path>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?(?:@(?P<hash>[0-9a-f]{12}))?")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool: what every answer says, and how much of it fits.

    Attributes:
        head: facts about the index.
        max_tokens: of the answer.
        request: the arguments that a cursor belongs to, as `written` has them.
        offset: where the answer begins.
    """

    head: dict[str, Any]
    max_tokens: int
    request: str
    offset: int

    def room(self, frame: Mapping[str, Any]) -> int:
        """Return how many tokens fit into an answer beside a frame."""
        return self.max_tokens - tokens_of(frame) - 4  # digits that the number of results may take more

    def page(self, results: Sequence[Fields], facts: dict[str, Any], *, more: bool = False) -> dict[str, Any]:
        """Return an answer with as many results as fit; the cursor continues after the last one.

        `omitted` counts the results that did not fit.

        Args:
            results: from the offset on; `more` says that others follow them.
        """
        head = self.head | facts
        shown = fit(
            results, self.room({"results": [], **head, "omitted": len(results), "cursor": self.cursor(1)})
        )
        omitted = len(results) - len(shown)
        cursor = self.cursor(len(shown)) if omitted or more else None
        return {"results": shown, **head, "omitted": omitted, "cursor": cursor}

    def cursor(self, number: int) -> str:
        """Return the cursor of what follows so many results or characters of this page."""
        return cursor_of(self.offset + number, self.request)


class Tools:
    """Answers the calls of one client, from what the scope of its workspace shows.

    Args:
        url_of: addresses that this client can open; only those of pages on the web where None.
        most_tokens: of any answer, whatever a call asks for; None for no limit.
    """

    def __init__(
        self, workspace: Workspace, *, url_of: items.UrlOf | None = None, most_tokens: int | None = None
    ) -> None:
        self._workspace = workspace
        self._is_limited = workspace.scope is not None
        self._sees_code = workspace.scope is None or bool(workspace.within)
        self._most_tokens = most_tokens
        self._url_of = url_of or web_address

    def prepare(self) -> None:
        """Begin to open the index and to compare it with its files, so that the first call need not wait."""
        if not self._is_limited:
            self._workspace.warm()
            self._workspace.stale(wait=0.0)

    @property
    def schemas(self) -> dict[str, ToolSchema]:
        """The tools of this client by name: those about code are for clients that may see some."""
        tools = [ToolSchema.of_operation(one) for one in operations().values() if not one.writes]
        return {tool.name: tool for tool in (*tools, *TOOLS) if self._sees_code or not tool.is_of_code}

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run a tool and return its answer, one JSON object.

        Raises:
            SleuthError: what is wrong, and the command that mends it.
        """
        schema = self.schemas.get(name)
        if schema is None:
            raise ArgumentError(f"tool must be one of {', '.join(self.schemas)}, got {name!r}")
        if "k" in schema.properties and len({"k", *_NAMES_OF_K}.intersection(arguments)) == 1:
            arguments = {"k" if key in _NAMES_OF_K else key: value for key, value in arguments.items()}
        check_names(arguments, schema.properties, f"arguments of {name}")
        if missing := [key for key in schema.required if key not in arguments]:
            raise ArgumentError(f"{missing[0]} must be given to {name}")
        request = {key: value for key, value in arguments.items() if key not in ("max_tokens", "cursor")}
        usual = ANSWER_TOKENS if name == "search" else PAGE_TOKENS
        max_tokens = check_count(arguments.get("max_tokens", usual), "max_tokens", least=LEAST_TOKENS)
        if self._most_tokens is not None:
            max_tokens = min(max_tokens, max(self._most_tokens, LEAST_TOKENS))
        values = (arguments.get(key) for key in ("query", "name", "id", "pattern"))
        texts = [value for value in values if isinstance(value, str)]  # what the call is about
        if not self._is_limited and not self._workspace.ready(texts):
            return write({"results": [], **self._head()})
        try:
            marked = written({"tool": name, **request})
            offset = offset_of(arguments.get("cursor"), marked)
            run = getattr(self, name) if schema in TOOLS else partial(self._run, operations()[name])
            return write(run(ToolCall(self._head(), max_tokens, marked, offset), **request))
        except ArgumentError as error:
            if note := self._workspace.indexing:
                raise ArgumentError(f"{error} (indexing: {note})") from error
            raise

    def search(
        self,
        call: ToolCall,
        query: str,
        sources: list[Literal["docs", "code"]] | None = None,
        path: Annotated[str, Field(description="File or folder.")] | None = None,
        kind: Annotated[str, Field(description="Of code: function, method, class.")] | None = None,
        k: int = DEFAULT_K,
    ) -> dict[str, Any]:
        """Find what answers a question, an error message or a stack trace, or defines a name, in documents and code.
        Best first; grade says how well they fit.
        """
        from sleuth.filters import all_of, as_filter, field

        request = SearchRequest.read({"query": query, "k": k, "sources": sources, "fold_copies": True})
        of_kind = field("kind") == check_name(kind, "kind", most=MOST_QUERY) if kind is not None else None
        tree = all_of(as_filter(request.filter), of_kind, self._below(path))
        with self._workspace.sources() as retriever:
            depth = max(request.k, DEFAULT_K)  # a grade does not depend on k
            ranking = retriever.run(replace(request, k=depth, filter=tree))
            if self._is_limited:
                ranking = ranking.without_details()
            grade = str(retriever.grade(query, ranking[:DEFAULT_K], request.sources))
            hits, around = ranking[: request.k], Ranking(())
            if hits:
                tree = all_of(tree, field("source").is_in(map(items.file_of, hits)))
                # Another server on this folder may have gone on to a newer snapshot: then hits stand alone.
                with suppress(RetrievalError, UnknownSnapshotError):
                    around = retriever.run(replace(request, k=_AROUND, filter=tree, explain=True))
        remarks = {
            "failures": [f"{part.name}: {part.error}" for part in ranking.failures],
            "notes": list(ranking.notes),
        }
        results = [items.passage(item, self._url_of, self._relative) for item in hits]
        head = call.head | {"grade": grade, **{key: lines for key, lines in remarks.items() if lines}}
        room = call.room({"results": [], **head, "omitted": len(results)})
        shown = items.spread(hits, around, results, query, room)
        omitted = len(results) - len(shown)
        return {"results": shown, **head, **({"omitted": omitted} if omitted else {})}

    def fetch(self, call: ToolCall, id: str, at: str | None = None) -> dict[str, Any]:
        """Read a result by its id, or a file by its path: src/app.py, src/app.py:10-40."""
        source = self._text(id, at)
        unread_text = source.text[call.offset :]
        metadata = {key: value for key, value in source.metadata.items() if value not in (None, "", [])}
        place = source.id
        if metadata.get("source_type") == "code":  # a client may open it by no other path
            place = items.place(metadata["source"], metadata["start_line"], metadata["end_line"])
        answer = {
            "id": source.id,
            "title": items.name_of(source.id, metadata),
            "text": "",
            **items.address(place, metadata, self._url_of),
            "metadata": metadata,
            **call.head,
        }
        if source.changed:
            answer["changed"] = True
        if source.first_line is not None:
            answer["start_line"] = source.first_line + source.text.count("\n", 0, call.offset)
        tail = {"omitted": len(unread_text), "cursor": call.cursor(len(unread_text))}
        end = fit_text(unread_text, call.room(answer | tail))
        if unread_text and not end:
            raise ArgumentError(
                f"max_tokens must be larger to hold any text of {id!r}, got {call.max_tokens}"
            )
        answer["text"] = unread_text[:end]
        answer["omitted"] = len(unread_text[end:].splitlines())
        answer["cursor"] = call.cursor(end) if end < len(unread_text) else None
        return answer

    def definitions(self, call: ToolCall, name: Name, at: str | None = None) -> dict[str, Any]:
        """Find where a class, function, method or constant is defined, with its code: TokenBucket.refill."""
        from sleuth.code import Navigator

        results = []
        for snapshot in self._workspace.snapshots_at(at):
            for entry in Navigator(snapshot).find_definition(name):
                row = snapshot.file(entry["file_path"])
                text = snapshot.lines(row, entry["line"], entry["end_line"])
                about = {"name": entry["name"], "kind": entry["type"], "labels": entry["labels"]}
                results.append(items.known({"id": self._place(snapshot, entry)}, **about, text=text))
        return call.page(results[call.offset :], self._suggestions(name, at, results))

    def references(self, call: ToolCall, name: Name, at: str | None = None) -> dict[str, Any]:
        """List every use of a name in code, with its role and the definition that is meant."""
        from sleuth.code import Navigator

        results = []
        counts = {"certain": 0, "uncertain": 0}
        for snapshot in self._workspace.snapshots_at(at):
            for use in Navigator(snapshot).find_references(name):
                counts["certain" if use["certain"] else "uncertain"] += 1
                facts: dict[str, Any] = {"role": use["role"], "confidence": round(use["confidence"], 2)}
                if not use["certain"]:
                    facts["certain"] = False
                if (target := use["definition"]) is not None:
                    facts["definition"] = f"{target['name']} at {target['file_path']}:{target['line']}"
                place = {"id": self._place(snapshot, use)}
                results.append(items.known(place, **facts, inside=use["inside"], text=use["text"]))
        return call.page(results[call.offset :], counts | self._suggestions(name, at, results))

    def grep(
        self,
        call: ToolCall,
        pattern: str,
        fixed: Annotated[bool, Field(description="The pattern is plain text.")] = False,
        ignore_case: bool = False,
        path: str | None = None,
        at: str | None = None,
    ) -> dict[str, Any]:
        """List and count every line that matches a regular expression of RE2, also in code that is not indexed yet."""
        engine = self._workspace.documents() if at is None else None
        is_code = self._sees_code and (engine is None or self._workspace.repositories())
        tree = self._below(path)
        matches = matching_lines(
            check_name(pattern, "pattern", most=MOST_QUERY),
            self._workspace.snapshots_at(at) if is_code else [],
            engine,
            fixed=fixed,
            ignore_case=ignore_case,
            of_code=tree,
            of_documents=tree,
            k=MOST_RESULTS,
            offset=call.offset,
            worktree=at is None,
        )
        results = []
        for root, line in matches.code:
            id = items.place(self._relative(f"{root}/{line.file_path}"), line.line, line.line)
            results.append(items.known({"id": id}, text=line.text, inside=line.inside))
        for match in matches.documents:
            name = {"id": match.id, **({"line": match.line} if match.line else {})}
            results.append(items.known(name, text=match.text, inside=match.metadata.get("heading")))
        facts = {"lines": matches.lines, "files": matches.files}
        return call.page(results, facts, more=matches.lines > call.offset + MOST_RESULTS)

    def history(self, call: ToolCall, name: str, at: str | None = None) -> dict[str, Any]:
        """List the commits that touched a file, lines of it (src/app.py:10-40) or a definition, newest first."""
        from sleuth.code.search.history import history_of

        path, end = self._absolute(check_name(name, "name", most=MOST_QUERY)), call.offset + MOST_RESULTS
        names = [
            (snapshot, spelling)
            for snapshot in self._workspace.snapshots_at(at)
            for spelling in (path.removeprefix(f"{snapshot.repository.path}/"), name)
        ]
        past = history_of(names, most=end + 1)
        results = [
            items.known(
                {"id": commit.id, "title": commit.subject, "date": commit.date, "author": commit.author},
                message=commit.body.strip(),
            )
            for commit in past.commits[call.offset : end]
        ]
        facts = {"path": past.path, **({"lines": list(past.lines)} if past.lines else {})}
        return call.page(results, facts, more=len(past.commits) > end)

    def status(self, call: ToolCall) -> dict[str, Any]:
        """Tell what is indexed, and which files changed since."""
        import sleuth

        engine = self._workspace.documents()
        answer: dict[str, Any] = {"sleuth": sleuth.__version__, **call.head}
        if engine is not None:
            facts = engine.status()
            names = ("documents", "passages", *(() if self._is_limited else ("version",)))
            answer["documents"] = {key: facts[key] for key in names}
        if not self._is_limited:
            answer["index"] = str(self._workspace.index)
        if not self._sees_code:
            return answer
        answer["code"] = [
            {
                "repository": snapshot.repository.path,
                "snapshot": snapshot.info.id,
                "names": list(snapshot.info.names),
                "files": len(snapshot.files),
                "skipped": len(snapshot.skipped),
            }
            for snapshot in self._workspace.snapshots()
        ]
        return answer

    def _run(self, operation: Operation, call: ToolCall, **options: Any) -> dict[str, Any]:
        """Run an operation of a package over the documents that this client may see."""
        engine = self._workspace.documents()
        if engine is None:
            raise ArgumentError(NOTHING_SEEN)
        answer = {**operation(engine, **options), **call.head}
        if (size := tokens_of(answer)) > call.max_tokens:
            raise ArgumentError(
                f"max_tokens must be {size} or more to hold this answer, got {call.max_tokens}"
            )
        return answer

    def _head(self) -> dict[str, Any]:
        """Return the facts about the index that every answer contains; they are not for a client with a limit."""
        if self._is_limited:
            return {}
        head: dict[str, Any] = {"indexed_root": self._workspace.indexed_root}
        if (stale := self._workspace.stale().to_dict()) != {"files": 0}:
            head["stale"] = stale
        note = self._workspace.indexing
        return head | ({"indexing": note} if note else {})

    def _below(self, path: str | None) -> Filter | None:
        """Return a filter for a file or folder, absolute or relative to the root."""
        if path is None:
            return None
        # Code is named by absolute paths, documents by those relative to the index.
        absolute = self._absolute(check_name(path, "path", most=MOST_QUERY))
        return within("source", dict.fromkeys((absolute, self._name_of(absolute))))

    def _relative(self, path: str) -> str:
        """Return an absolute path as it is called below the root of the answers, if it is there."""
        root = f"{self._workspace.indexed_root}/" if self._sees_code else ""
        return path.removeprefix(root)

    def _place(self, snapshot: Snapshot, entry: Mapping[str, Any]) -> str:
        """Return the path and lines of a definition or a use."""
        path = self._relative(f"{snapshot.repository.path}/{entry['file_path']}")
        return items.place(path, entry["line"], entry.get("end_line", entry["line"]))

    def _name_of(self, path: str) -> str:
        """Return what a file is called among the documents; a client with a limit calls it so itself."""
        from sleuth.ingest import FileNames

        return path if self._is_limited else FileNames.beside(self._workspace.index).name_of(path)

    def _absolute(self, path: str) -> str:
        """Return the absolute path of a file; a client without code is not told of the folder, nor asks by it."""
        root = self._workspace.indexed_root if self._sees_code else ""
        return os.path.normpath(os.path.join(root, path))  # noqa: PTH118 - as text

    def _text(self, id: str, at: str | None) -> FetchedText:
        """Return the text of an id, or of a path with lines.

        Raises:
            ArgumentError: nothing that is indexed and may be seen.
        """
        place = _PLACE.fullmatch(check_name(id, "id", most=MOST_QUERY))
        path, first_line, last_line, digest = self._absolute(id), None, None, ""
        if place is not None:
            path = self._absolute(place["path"])
            first_line = int(place["first"]) if place["first"] else None
            last_line = int(place["last"] or first_line) if first_line is not None else None
            digest = place["hash"] or ""
        engine = self._workspace.documents()
        document = document_text(engine, id, None, None) if at is None else None
        if document is None and first_line is not None and not 1 <= first_line <= (last_line or 0):
            raise ArgumentError(f"id must have lines from 1 on, the first one first, got {id!r}")
        if self._sees_code and (at is not None or self._workspace.repositories()):
            document = document or code_text(
                self._workspace.snapshots_at(at), id, path, first_line, last_line, digest=digest
            )
        if document is None and at is None:
            document = document_text(engine, self._name_of(path), first_line, last_line)
        if document is None and at is None and place is not None:
            document = document_text(engine, place["path"], first_line, last_line)
        if document is None:
            root = "" if self._is_limited else f" below {self._workspace.indexed_root}"
            raise ArgumentError(
                f"id must be one that search gave, or a path{root} that is indexed, got {id!r}"
            )
        return document

    def _suggestions(self, name: str, at: str | None, results: Sequence[Fields]) -> dict[str, list[str]]:
        """Return {"near": the indexed names that are spelt like `name`} if there are no results; otherwise {}."""
        from sleuth.code import Navigator

        if results:
            return {}
        spellings = (Navigator(snapshot).near(name) for snapshot in self._workspace.snapshots_at(at))
        return {"near": list(dict.fromkeys(chain.from_iterable(spellings)))}


TOOLS: Final = (
    ToolSchema.of(Tools.search),
    ToolSchema.of(Tools.fetch),
    ToolSchema.of(Tools.definitions, is_of_code=True),
    ToolSchema.of(Tools.references, is_of_code=True),
    ToolSchema.of(Tools.grep),
    ToolSchema.of(Tools.history, is_of_code=True),
    ToolSchema.of(Tools.status),
)
