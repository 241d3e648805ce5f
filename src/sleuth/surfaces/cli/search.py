"""sleuth search: prints the passages that answer a question."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.engine import SearchRequest
from sleuth.files import CODE
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import (
    IndexOption,
    JsonOption,
    open_sources,
    print_json,
    warn_of_plugins,
)
from sleuth.surfaces.cli.files import file_of, place, request_here
from sleuth.surfaces.cli.options import takes
from sleuth.surfaces.cli.recent import ResultPlace, remember
from sleuth.surfaces.cli.terminal import console, say, styled
from sleuth.surfaces.hits import ShownText, excerpt, title_of
from sleuth.text import clean_text
from sleuth.types import document_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sleuth.engine import Answering
    from sleuth.types import Explanation, Ranking, RetrievedItem

OPEN, CLOSE = "\ue000", "\ue001"
"""Marks around matches while a text is wrapped: characters of Unicode's private use area."""

CODE_LINES = 8
"""Maximum number of lines of a piece of code in the output."""

COPIES = 3
"""Maximum number of documents with copies of a passage in the output."""

_RANKS = 0.04
"""Scores below this come mostly from ranks; they differ only from the third digit on."""

EXAMPLES = """[bold]Examples[/bold]

  sleuth search "how do I rotate a key"
  sleuth search -k 3 --filter "type:markdown" install
  sleuth search '"token bucket" -leaky title:limits'     a phrase, no "leaky", "limits" in the title
  sleuth search --in docs --in code "token bucket"      documents and code; also web and kb:ID
  sleuth search --all-copies "token bucket"      also passages that repeat a better one
  sleuth search --explain "token bucket"         why each passage ranks where it does
  sleuth search --json "token bucket" | jq -r '.items[].file'
"""


@app.command("search", epilog=EXAMPLES)
@takes(SearchRequest, syntax=True)
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
        request = request_here(engine, question, options)
        ranking = engine.run(request)
        if json:
            print_json(ranking_json(engine, question, ranking))
        else:
            print_ranking(engine, question, ranking)
            remember([result_place(engine, item) for item in ranking])
    if not ranking:
        raise typer.Exit(1)


def result_place(engine: Answering, item: RetrievedItem) -> ResultPlace:
    """Return where a result stands, for `sleuth open`; a member of an archive stands in the archive."""
    file = file_of(engine, item.metadata)
    if "row" in item.metadata or "member" in item.metadata:
        file = file.partition("#")[0] if not os.path.exists(file) else file  # noqa: PTH110
    line = item.metadata.get("start_line")
    return ResultPlace(place(engine, item.id, item.metadata), file, line if isinstance(line, int) else 0)


def ranking_json(engine: Answering, query: str, ranking: Ranking) -> dict[str, Any]:
    """Return a ranking with snippets, fit for JSON."""
    return {
        "query": query,
        "items": [item_json(engine, query, item) for item in ranking],
        "parts": [part.to_dict() for part in ranking.parts],
        "notes": list(ranking.notes),
    }


def print_ranking(engine: Answering, query: str, ranking: Ranking) -> None:
    """Print the hits, then what failed and what there is to note."""
    for number, item in enumerate(ranking, 1):
        print_item(engine, query, number, item)
    for part in ranking.failures:
        say(f"sleuth: {part.name} {part.status}: {part.error}", err=True)
    for note in ranking.notes:
        say(f"sleuth: {clean_text(note)}", err=True)
    if not ranking:
        say("Nothing found.", err=True)


def item_json(engine: Answering, query: str, item: RetrievedItem) -> dict[str, Any]:
    """Return an item with its snippet and the absolute path of its file, fit for JSON."""
    snippet = engine.snippet(query, item)
    file = file_of(engine, item.metadata)
    own = {"file": file} if file else {}
    return {
        **item.to_dict(),
        **own,
        "snippet": {"text": snippet.text, "spans": [list(span) for span in snippet.spans]},
    }


def print_item(engine: Answering, query: str, number: int, item: RetrievedItem) -> None:
    """Print a line with the place of a hit, and its snippet below.

    The codes are written without rich, whose import costs more than a search.
    """
    score = f"  {item.score:.{2 if item.score >= _RANKS else 4}f}" if item.score is not None else ""
    kind = f"  {item.metadata['source_type']}" if item.metadata.get("source_type") else ""
    where = place(engine, item.id, item.metadata)
    say(f"{styled(f'{number:>2}', 'dim')} {styled(where, 'head')}{styled(f'{score}{kind}', 'dim')}")
    width = max(20, shutil.get_terminal_size().columns)
    if heading := clean_text(title_of(item.metadata)):
        say(f"   {styled(wrapped(heading, width - 4, 1)[0], 'italic')}")
    part = excerpt(item, query, engine, width=3 * (width - 4), lines=CODE_LINES)
    for line in excerpt_lines(part, item.metadata, width - 4):
        say(f"   {line}".rstrip())
    if part.more:
        say(styled(f"   … {part.more} more lines", "dim"))
    if item.copies:
        say(styled(f"   {copies_line(item.copies)}", "dim"))
    if item.explanation is not None:
        print_explanation(item.explanation)
    say()


def copies_line(ids: Sequence[str]) -> str:
    """Say in one line how many copies of a passage are left out, and of which documents they are."""
    documents = list(dict.fromkeys(map(document_of, ids)))
    names = ", ".join(clean_text(name) for name in documents[:COPIES])
    more = ", …" if len(documents) > COPIES else ""
    return f"and {len(ids)} {'copy' if len(ids) == 1 else 'copies'}: {names}{more}"


def excerpt_lines(part: ShownText, metadata: Mapping[str, Any], width: int) -> list[str]:
    """Return an excerpt with its matches marked: lines of code as they are, other text wrapped."""
    text = marked(part)
    if metadata.get("source_type") == "code":
        return [styled_spans(line) for line in text.split("\n")]
    if metadata.get("type") in CODE:
        lines = [wrapped(line.expandtabs(4), width, 1, keep_indentation=True) for line in text.split("\n")]
        return [styled_spans(line) for cut in lines for line in cut or [""]][:CODE_LINES]
    return [styled_spans(line) for line in wrapped(" ".join(text.split()), width, 4)]


def marked(snippet: ShownText) -> str:
    """Return the text of a snippet with marks around its matches."""
    text, last = "", 0
    for start, end in snippet.spans:
        text += f"{clean_text(snippet.text[last:start])}{OPEN}{clean_text(snippet.text[start:end])}{CLOSE}"
        last = end
    return text + clean_text(snippet.text[last:])


def wrapped(text: str, width: int, most: int, *, keep_indentation: bool = False) -> list[str]:
    """Wrap a text to at most `most` lines of `width` columns, and cut it off if it is longer."""
    if keep_indentation:
        rest = text.lstrip(" ")
        indentation = text[: len(text) - len(rest)][: width // 2]
        return [indentation + line for line in wrapped(rest, width - len(indentation), most)]
    if not any(unicodedata.east_asian_width(char) in "WF" for char in text):
        return textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    from rich.text import Text

    lines = [str(line).rstrip() for line in Text(text).wrap(console(), width)]
    if len(lines) > most:
        last = Text(lines[most - 1])
        last.truncate(width - 2)
        lines[most - 1 :] = [f"{last} …"]
    return lines


def styled_spans(line: str) -> str:
    """Replace the marks of matches by codes for a terminal, or remove them for a pipe."""
    if line.count(OPEN) > line.count(CLOSE):
        line += CLOSE
    return re.sub(f"{OPEN}([^{CLOSE}]*)(?:{CLOSE}|$)", lambda match: styled(match[1], "match"), line).replace(
        CLOSE, ""
    )


def print_explanation(explanation: Explanation) -> None:
    """Print an explanation as a tree."""
    from rich.padding import Padding
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

    console().print(Padding(grow(Tree(label(explanation)), explanation), (0, 0, 0, 3)))
