"""sleuth web: prints pages of the web that answer a question."""

from __future__ import annotations

from textwrap import indent
from typing import Annotated

from annotated_types import Ge

from sleuth.errors import ArgumentError, WebError
from sleuth.extensions import own_extensions
from sleuth.surfaces.cli.app import command_group
from sleuth.surfaces.cli.common import Output, remark, say
from sleuth.surfaces.cli.hits import print_hits
from sleuth.surfaces.cli.opening import web_cache
from sleuth.surfaces.cli.options import command
from sleuth.types import Ranking

EXAMPLES = """
  sleuth web "climate change policy"
  sleuth web search --service brave+searxng "tide tables"
  sleuth web -k 5 --json "solar subsidies" | jq -r '.results[].url'
  sleuth web --read "tide tables"

The key of a service, such as TAVILY_API_KEY, is read from the environment or from .env.
"""


web_commands = command_group(
    "web", "Find pages of the web; plugins add commands.", EXAMPLES, default="search"
)


@command(web_commands, "search", EXAMPLES)
def search(
    query: Annotated[list[str] | None, "The question; quotes are optional."] = None,
    *,
    k: Annotated[int, "Number of pages; 20 at most.", Ge(1)] = 3,
    domain: Annotated[list[str] | None, "Only pages of this domain."] = None,
    service: Annotated[
        str | None,
        f"{', '.join(own_extensions('web'))}; NAME,NAME asks the next if one is down, NAME+NAME merges both.",
    ] = None,
    # As by default in `WebRetriever`.
    timeout: Annotated[float, "Seconds for the whole search."] = 30.0,
    no_cache: Annotated[bool, "Do not use the cache."] = False,
    read: Annotated[bool, "Fetch each page and show its text."] = False,
    json: bool = False,
) -> Output:
    """Find pages of the web that answer a question; the word `search` may be left out."""
    from sleuth.web import fetch_page
    from sleuth.web.retriever import item_of
    from sleuth.web.search import WebSearch, check_search, web_docs

    question = " ".join(query or ())
    if not question.strip():
        raise ArgumentError('query must be given, as in: sleuth web "climate change policy"')
    check_search(question, k)
    cache = None if no_cache else web_cache()
    service_search = WebSearch(service=service, timeout=timeout, include_domains=domain or (), cache=cache)
    answer = service_search.search(question, k)
    if answer.error is not None:
        remark(f"results may be incomplete: {answer.error}")
    if not json:
        texts = []
        for hit in answer.hits if read else ():
            try:
                texts.append(fetch_page(hit.url).text)
            except WebError as error:  # it has what the service sent of it
                remark(str(error))
                texts.append(hit.content)
        notes = ["the service is down; these answers are from the cache"] if answer.stale else ()
        below = (lambda number: say(indent(texts[number - 1], "   "))) if read else None
        print_hits(question, Ranking(list(map(item_of, answer.hits)), notes=notes), below=below)
    return Output(web_docs(answer), found=answer.hits)
