"""sleuth kb: what does a knowledge base hold, at AWS or on this machine?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.errors import ArgumentError, LoadError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, open_index, print_json
from sleuth.surfaces.cli.terminal import console
from sleuth.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sleuth.types import Document

EXAMPLES = """[bold]Examples[/bold]

  sleuth kb ingest --source-id letters --folder letters/

  sleuth kb search "pictures of Judy" --filter "topic:genealogy"

  sleuth kb status --source-id letters

  sleuth kb search --aws --kb KB12345678 "pictures of Judy"

  sleuth kb ingest --aws --kb KB12345678 --source-id DS12345678
"""

kb = typer.Typer(name="kb", help="Search and fill knowledge bases.", no_args_is_help=True, epilog=EXAMPLES)
app.add_typer(kb)

AwsOption = Annotated[
    bool, typer.Option("--aws", help="Ask AWS (AWS_REGION) instead of this machine's index.")
]
BaseOption = Annotated[str, typer.Option("--kb", help="Id of the knowledge base.")]
SourceOption = Annotated[str | None, typer.Option("--source-id", help="Id of the data source.")]
FolderOption = Annotated[
    Path | None, typer.Option("--folder", help="What the data source reads, on this machine.")
]
Uris = Annotated[list[str] | None, typer.Argument(help="Documents, as s3:// addresses or custom ids.")]


@contextmanager
def client_of(
    aws: bool, index: Path | None, source: str | None = None, folder: Path | None = None
) -> Iterator[Any]:
    """None for AWS, which makes its own clients; else the index in the place of both."""
    if aws:
        yield None
        return
    from sleuth.knowledge_base import LocalKnowledgeBase

    sources = {source: folder} if source and folder else {}
    with open_index(index) as engine, LocalKnowledgeBase(engine, sources=sources, read=documents_of) as local:
        yield local


def documents_of(path: Path) -> Iterable[Document]:
    """The documents of a file, by the loaders that indexing uses."""
    from sleuth.ingest import Skipped, read
    from sleuth.types import Document

    for record in read([path]):
        if isinstance(record, Skipped):
            raise LoadError(str(path), record.reason)
        if isinstance(record, Document):
            yield record


@kb.command("search", epilog=EXAMPLES)
def search(
    query: Annotated[list[str], typer.Argument(help="The question; quotes are optional.")],
    k: Annotated[int, typer.Option("-k", "--limit", min=1, help="How many passages.")] = 5,
    filter: Annotated[
        str | None, typer.Option("--filter", "-f", help='What is raised, as in "year>=2020".')
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for each slice.")] = 5.0,
    kb: BaseOption = "local",
    source_id: SourceOption = None,
    aws: AwsOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Ask with and without the filter at once; what matches it is raised."""
    from sleuth.filters import as_filter, to_mongo
    from sleuth.knowledge_base import MultiSliceRetriever

    tree = as_filter(filter)
    with client_of(aws, index) as client:
        retriever = MultiSliceRetriever(client, timeout_seconds=timeout)
        wanted = None if tree is None else to_mongo(tree)
        results, report = retriever.retrieve_with_report(" ".join(query), kb, source_id, wanted, k)
    if json:
        print_json({"results": results, "report": [part.to_dict() for part in report]})
    else:
        for number, result in enumerate(results, 1):
            print_result(number, result)
        for part in report:
            if part.status in ("failed", "abandoned"):
                console(stderr=True).print(f"sleuth: {part.name} {part.status}: {part.error}", markup=False)
    if not results:
        console(stderr=True).print("Nothing found.")
        raise typer.Exit(1)


def print_result(number: int, result: Mapping[str, Any]) -> None:
    """One passage: where it is and its score, and its text below."""
    from rich.padding import Padding
    from rich.text import Text

    from sleuth.knowledge_base import uri_of

    head = (
        (f"{number:>2} ", "dim"),
        (clean_text(uri_of(result) or ""), "bold cyan"),
        (f"  {result['score']:.2f}", "dim"),
    )
    console().print(Text.assemble(*head), soft_wrap=True)
    console().print(Padding(Text(" ".join(clean_text(result["content"]).split())[:600]), (0, 0, 1, 3)))


@kb.command("ingest", epilog=EXAMPLES)
def ingest(
    uris: Uris = None,
    source_id: SourceOption = None,
    kb: BaseOption = "local",
    folder: FolderOption = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait for the end.")] = 3600.0,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Start it, and leave (AWS only).")] = False,
    aws: AwsOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Read a whole data source into a knowledge base, or the documents named, and wait until it is done."""
    from sleuth import knowledge_base

    source = needed(source_id)
    if not aws and folder is None and not uris:
        raise ArgumentError("--folder must be given: what data source the index is to read")
    with client_of(aws, index, source, folder) as client:
        if uris:
            entries = [{"s3": {"uri": uri}} for uri in uris]
            knowledge_base.ingest_documents_with_retry(kb, source, entries, client=client)
            job = None
        else:
            job = knowledge_base.start_ingestion_with_retry(kb, source, client=client)["ingestionJobId"]
        if aws and no_wait:
            print_json({"ingestionJobId": job}) if json else console().print(
                f"started {job or len(uris or ())}"
            )
            return
        done = knowledge_base.wait_for_ingestion(
            kb, source, job, s3_uris=uris or (), timeout=timeout, poll=5.0 if aws else 0.05, client=client,
            progress=None if json else show_progress,
        )  # fmt: skip
    if json:
        print_json(done)
    elif job is not None:
        for name, count in (done.get("statistics") or {}).items():
            console().print(f"{name.removeprefix('numberOf')}: {count}", markup=False)
    else:
        for uri, status in done.items():
            console().print(f"{status}  {uri}", markup=False, soft_wrap=True)
    if job is None and "FAILED" in done.values():
        raise typer.Exit(1)


def show_progress(found: dict[str, Any]) -> None:
    """One line on standard error, where someone looks at it."""
    out = console(stderr=True)
    if out.is_terminal:
        statistics = found.get("statistics") or {}
        count = statistics.get("numberOfDocumentsScanned", "")
        out.print(f"{found.get('status', len(found))} {count}".rstrip(), markup=False)


@kb.command("status", epilog=EXAMPLES)
def status(
    uris: Uris = None,
    source_id: SourceOption = None,
    kb: BaseOption = "local",
    aws: AwsOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """How far documents are; without any named, the data sources there are."""
    from sleuth import knowledge_base
    from sleuth.knowledge_base import default_client

    with client_of(aws, index) as client:
        if uris:
            source = needed(source_id)
            found = knowledge_base.batch_check_document_statuses(kb, source, uris, client=client)
        else:
            agent = client or default_client("bedrock-agent", 30.0)
            sources = agent.list_data_sources(knowledgeBaseId=kb, maxResults=100)["dataSourceSummaries"]
            found = {str(one["dataSourceId"]): str(one["status"]) for one in sources}
    if json:
        print_json(found)
        return
    for name, state in found.items():
        console().print(f"{state}  {name}", markup=False, soft_wrap=True)
    if not found:
        console(stderr=True).print("No data sources.")


def needed(source_id: str | None) -> str:
    """The data source, which has to be named."""
    if not source_id:
        raise ArgumentError("--source-id must be given: the id of the data source")
    return source_id
