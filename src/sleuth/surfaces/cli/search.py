"""sleuth search, sleuth ask and sleuth index summarize: passages, answers with numbered sources, and summaries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge

from sleuth.engine import SearchRequest
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app, index_commands
from sleuth.surfaces.cli.common import Output, one_line, print_json, remark, say, styled
from sleuth.surfaces.cli.hits import print_hits
from sleuth.surfaces.cli.opening import Index, open_sources
from sleuth.surfaces.cli.options import command, options_of, request_of
from sleuth.surfaces.cli.places import file_names_of, file_of, from_here, path_from_here
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.engine.answers import Answering
    from sleuth.results import SearchResult

EXAMPLES = """
  sleuth search "how do I rotate a key"
  sleuth search -k 3 --filter "type:markdown" install
  sleuth search '"token bucket" -leaky title:limits'     a phrase, no "leaky", "limits" in the title
  sleuth search --in docs --in code "token bucket"      documents and code; also web and kb:ID
  sleuth search --no-fold-copies "token bucket"  also passages that repeat a better one
  sleuth search --explain "token bucket"         why each passage ranks where it does
  sleuth search --json "token bucket" | jq -r '.items[].file'
"""

FIRST = ("sources", "filter", "k", "sort", "recency", "expand", "rerank", "explain", "json", "index")


@command(app, "search", EXAMPLES, first=FIRST)
def search(
    query: Annotated[list[str], "The question; quotes are optional."],
    *,
    options: Annotated[dict[str, Any], options_of(SearchRequest, syntax=True, fold_copies=True)],
    json: bool = False,
    index: Path | None = None,
) -> Output:
    """Find the passages that answer a question."""
    question = " ".join(query)
    request = request_of(SearchRequest, question, options)
    with open_sources(options["sources"], index) as engine:
        ranking = engine.run(request if json else replace(request, explain=True))
        items = []
        for item in ranking if json else ():
            snippet, file = engine.snippet(question, item), file_of(engine, item.metadata)
            window = {"text": snippet.text, "spans": [list(span) for span in snippet.spans]}
            items.append({**item.to_dict(), **({"file": file} if file else {}), "snippet": window})
        for item in ranking if not request.explain else ():  # it gave the share
            item.extra.pop("explanation", None)
        if not json:
            print_hits(
                question,
                ranking,
                path=lambda item: path_from_here(engine, item.id, item.metadata),
                snippet=engine.snippet,
            )
    facts = {"query": question, "items": items, "parts": ranking.parts, "notes": ranking.notes}
    return Output(facts, found=ranking)


ASK_EXAMPLES = """
  sleuth ask "how often are tokens refilled?"        quotes that fit, no model needed
  sleuth ask --model llama3.1 "how does a login work?"      Ollama writes the answer
  sleuth ask --in docs --in code "where is a login checked?"      documents and code, cited side by side
  sleuth ask --model openai:gpt-4o-mini --json "what changed in 2.0?" | jq -r .response
"""

_CUT = "the answer is cut off: the model may write no more tokens"

ASK_FIRST = ("model", "sources", "filter", "k", "sort", "recency", "show_context", "rate", "json", "index")

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        envvar="SLEUTH_MODEL",
        help="Model that writes: one of Ollama (llama3.1), or openai:NAME. Without one, sentences are quoted.",
    ),
]


@command(app, "ask", ASK_EXAMPLES, first=ASK_FIRST)
def ask(
    question: Annotated[list[str], "The question; quotes are optional."],
    *,
    options: Annotated[dict[str, Any], options_of(SearchRequest, syntax=True)],
    model: ModelOption = None,
    show_context: Annotated[bool, "Print the passages that the answer was written from."] = False,
    rate: Annotated[bool, "Let the model rate the answer from 1 to 10, with a reason."] = False,
    json: bool = False,
    index: Path | None = None,
) -> None:
    """Answer a question from the index, with numbered sources."""
    from sleuth.answer import evaluate_relevance
    from sleuth.engine.answers import as_generator
    from sleuth.llm import LLMGenerator

    text = " ".join(question)
    generator = as_generator(model) if rate else None
    if rate and generator is None:
        raise ArgumentError("--rate needs a model that judges: add --model NAME, or set SLEUTH_MODEL")
    judge = None if generator is None else LLMGenerator(llm=generator)
    with open_sources(options["sources"], index) as engine:
        request = request_of(SearchRequest, text, options)
        with engine.stream_search(text, request.k, "with_items", model=model, **request.changed()) as stream:
            piece = ""
            try:
                for piece in () if json else stream:
                    show(piece)
            except BaseException:
                say(end="\n" if piece else "")  # what went wrong begins a line
                raise
            result = stream.result
        if json:
            if judge is not None:
                result.extra["rating"] = evaluate_relevance(judge, text, result.response).to_dict()
            print_json(result.to_dict() | ({} if show_context else {"items": None}))
        else:
            print_sources(engine, result, show_context)
            if judge is not None:
                say()
                rating = evaluate_relevance(judge, text, result.response, on_text=show)
                say(f"\nsleuth: {rating.problem}" if rating.problem else "", err=bool(rating.problem))
    check(result)


SUMMARIZE_EXAMPLES = """
  sleuth index summarize docs/limits.md                    a document of the index, by path or id
  sleuth index summarize --about "rate limits" --model llama3.1       the passages that match a question
"""


@command(index_commands, "summarize", SUMMARIZE_EXAMPLES)
def summarize(
    documents: Annotated[list[str] | None, "Documents of the index, by path or id."] = None,
    *,
    about: Annotated[str | None, "Summarize the passages that match a question instead."] = None,
    k: Annotated[int, "Passages to answer from.", Ge(1)] = 10,
    model: ModelOption = None,
    filter: Annotated[str | None, 'Use only passages that match, as in "year>=2020 lang:en".'] = None,
    json: bool = False,
    engine: Index,
) -> Output:
    """Summarize documents in bullet points."""
    from sleuth.answer import SummarySynthesizer, budget_of
    from sleuth.engine import text_of
    from sleuth.engine.answers import as_generator
    from sleuth.engine.narrowing import OF_PASSAGES
    from sleuth.engine.reading import passages_of
    from sleuth.llm import LLMGenerator

    if bool(documents) == bool(about):
        raise ArgumentError("give documents to summarize, or --about with a question")
    generator = as_generator(model)
    writer = None if generator is None else LLMGenerator(llm=generator)
    synthesizer = SummarySynthesizer(writer, budget=budget_of(generator))
    on_text = None if json else show
    if about:
        result = engine.search(
            about, k, "with_items", filter=filter, synthesizer=synthesizer, on_text=on_text
        )
        check(result)
    else:
        items = []
        for name in documents or ():
            passages = passages_of(engine, name)
            metadata = passages[0].metadata
            about_all = {key: value for key, value in metadata.items() if key not in OF_PASSAGES}
            values = {"id": name, "text": text_of(passages), "metadata": about_all}
            items.append(passages[0].model_copy(update=values))
        result = synthesizer.synthesize("", items, on_text=on_text)
    sources = [source["source"] for source in result.extra["sources"]]
    facts = {key: result.extra[key] for key in ("citations", "synthesizer", "grade")}
    lines = ["\n"]
    for number, source in enumerate(sources, 1):
        count = sum(citation["number"] == number for citation in facts["citations"])
        cited = f"{count} of {len(facts['citations'])} lines"
        lines.append(f"{styled(f'[{number}]', 'dim')} {styled(one_line(source), 'head')}  {cited}")
    notes = [_CUT] if result.extra["is_cut"] else []
    notes += [f"no document supports: {clean_text(statement)}" for statement in result.extra["unsupported"]]
    return Output({"summary": result.response, "sources": sources, **facts}, lines, notes)


def show(piece: str) -> None:
    """Print a piece of a text as it comes."""
    say(clean_text(piece), end="", flush=True)


def check(result: SearchResult) -> None:
    """Exit with the code of a search that found nothing close or got an invalid question."""
    from sleuth.results import Grade

    if result.is_error():
        if result.detail is not None and result.detail.code in ("empty", "invalid"):
            raise ArgumentError(result.detail.message)
        say(clean_text(result.detail.message if result.detail else "No answer."), err=True)
        raise typer.Exit(1)
    if result.grade is Grade.NOTHING_CLOSE:
        raise typer.Exit(1)


def print_sources(engine: Answering, result: SearchResult, show_context: bool) -> None:
    """Print the sources that the answer cites, numbered, below it."""
    sources = result.extra.get("sources", [])
    numbers = {citation["number"] for citation in result.extra.get("citations", [])}
    items = {item.id: item for item in result.items or ()}
    selection = [source for source in sources if source["number"] in numbers or not numbers or show_context]
    if selection:
        say("\n" if result.response else "")
    for source in selection:
        title = styled(f"  {clean_text(source['title'])}", "italic") if source["title"] else ""
        number = styled(f"[{source['number']}]", "dim")
        kind = styled(f"  {source['source_type']}", "dim") if "source_type" in source else ""
        cited = [items[id] for id in source["ids"] if id in items]
        path = source["heading"].removeprefix(source["title"]).removeprefix(" > ")
        heading = styled(f"  § {clean_text(path)}", "dim") if path else ""
        place = source["source"]
        if cited and (file := file_of(engine, cited[0].metadata)):
            name = str(cited[0].metadata.get("path") or cited[0].metadata.get("source"))
            place = from_here(file, file_names_of(engine).base) + place.removeprefix(name)
        say(f"{number} {styled(one_line(place), 'head')}{title}{heading}{kind}")
        if show_context:
            say(clean_text("\n".join(item.text for item in cited)) + "\n")
    if not selection and result.response:
        say()
    notes = [*result.extra.get("notes", ()), *([_CUT] if result.extra.get("is_cut") else [])]
    failed = result.detail.context.get("failed", ()) if result.detail else ()
    notes += [f"{part['name']} {part['status']}: {part['error']}" for part in failed]
    if result.detail is not None and result.is_ok() and not failed:
        notes.append(result.detail.message)
    unsupported = result.extra.get("unsupported", ())
    notes += [f"nothing that the answer cites supports: {statement}" for statement in unsupported]
    if unknown := result.extra.get("unknown_citations"):
        notes.append(f"the model cites passages that do not exist: {', '.join(map(str, unknown))}")
    for note in notes:
        remark(clean_text(note))
