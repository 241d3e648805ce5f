"""sleuth kb: searches and fills a knowledge base, at AWS or on this machine."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.errors import ArgumentError, LoadError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, open_index, print_json
from sleuth.surfaces.cli.hits import print_hits
from sleuth.surfaces.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sleuth.types import Document

EXAMPLES = """[bold]Examples[/bold]

  sleuth kb ingest --source-id letters --folder letters/

  sleuth kb search "pictures of Judy" --filter "topic:genealogy"

  sleuth kb status --source-id letters

  sleuth kb search --aws --kb KB12345678 "pictures of Judy"

  sleuth kb search --aws --kb KB12345678 --options '{"overrideSearchType": "HYBRID"}' "pictures of Judy"

  sleuth kb ingest --aws --kb KB12345678 --source-id DS12345678
"""

kb = typer.Typer(name="kb", help="Search and fill knowledge bases.", no_args_is_help=True, epilog=EXAMPLES)
app.add_typer(kb)

AwsOption = Annotated[
    bool, typer.Option("--aws", help="Use AWS (AWS_REGION) instead of the index on this machine.")
]
BaseOption = Annotated[str, typer.Option("--kb", help="Id of the knowledge base.")]
SourceOption = Annotated[str | None, typer.Option("--source-id", help="Id of the data source.")]
FolderOption = Annotated[
    Path | None, typer.Option("--folder", help="Folder that the data source reads, on this machine.")
]
Uris = Annotated[list[str] | None, typer.Argument(help="Documents, as s3:// addresses or custom ids.")]


@contextmanager
def client_of(
    aws: bool, index: Path | None, source: str | None = None, folder: Path | None = None
) -> Iterator[Any]:
    """Yield None for AWS, whose clients are made later, or else the index as a knowledge base.

    A folder to read creates a missing index.
    """
    if aws:
        yield None
        return
    from sleuth.knowledge_base import LocalKnowledgeBase

    sources = {source: folder} if source and folder else {}
    with (
        open_index(index, create=folder is not None) as engine,
        LocalKnowledgeBase(engine, sources=sources, read=documents_of) as local,
    ):
        yield local


def documents_of(path: Path) -> Iterable[Document]:
    """Yield the documents of a file, read by the loaders of `sleuth index`."""
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
        str | None, typer.Option("--filter", "-f", help='Passages that rank higher, as in "year>=2020".')
    ] = None,
    # As by default in `MultiSliceRetriever`.
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for each slice.")] = 5.0,
    kb: BaseOption = "local",
    source_id: SourceOption = None,
    managed: Annotated[
        bool, typer.Option("--managed", help="The knowledge base is a managed one of Amazon Bedrock.")
    ] = False,
    options: Annotated[
        str | None,
        typer.Option(
            "--options",
            help="""Options of each request as JSON, as in '{"overrideSearchType": "SEMANTIC"}'.""",
        ),
    ] = None,
    aws: AwsOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Search with and without the filter at once; matches of the filter rank higher."""
    from sleuth.filters import as_filter, to_mongo
    from sleuth.knowledge_base import MultiSliceRetriever
    from sleuth.knowledge_base.ranking import item_of

    question, tree = " ".join(query), as_filter(filter)
    with client_of(aws, index) as client:
        retriever = MultiSliceRetriever(
            client, timeout_seconds=timeout, is_managed=managed, options=request_options(options)
        )
        metadata_filter = None if tree is None else to_mongo(tree)
        results, report = retriever.retrieve_with_report(question, kb, source_id, metadata_filter, k)
    if json:
        print_json({"results": results, "report": [part.to_dict() for part in report]})
    else:
        print_hits(question, map(item_of, results), parts=report)
    if not results:
        raise typer.Exit(1)


def request_options(text: str | None) -> dict[str, Any] | None:
    """Return the options of requests that JSON holds.

    Raises:
        ArgumentError: anything but an object.
    """
    try:
        options = None if text is None else json_format.loads(text)
    except ValueError:
        options = ()
    if options is not None and not isinstance(options, dict):
        raise ArgumentError(f"--options must be a JSON object, got {text!r}")
    return options


@kb.command("ingest", epilog=EXAMPLES)
def ingest(
    uris: Uris = None,
    source_id: SourceOption = None,
    kb: BaseOption = "local",
    folder: FolderOption = None,
    # As by default in `wait_for_ingestion`: an hour, since a data source may hold many files.
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait until it is done.")] = 3600.0,
    aws: AwsOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Read a data source or the named documents into a knowledge base, and wait until it is done."""
    from sleuth import knowledge_base

    source = needed(source_id)
    if not aws and folder is None and not uris:
        raise ArgumentError("--folder must be given: the folder that the data source reads")
    with client_of(aws, index, source, folder) as client:
        if uris:
            entries = [{"s3": {"uri": uri}} for uri in uris]
            knowledge_base.ingest_documents_with_retry(kb, source, entries, client=client)
            job = None
        else:
            job = knowledge_base.start_ingestion_with_retry(kb, source, client=client)["ingestionJobId"]
        result = knowledge_base.wait_for_ingestion(
            kb, source, job, s3_uris=uris or (), timeout=timeout, poll=5.0 if aws else 0.05, client=client,
            progress=None if json else show_progress,  # AWS limits the rate of requests; local polls are cheap
        )  # fmt: skip
    if json:
        print_json(result)
    elif job is not None:
        for name, count in (result.get("statistics") or {}).items():
            console().print(f"{name.removeprefix('numberOf')}: {count}", markup=False)
    else:
        for uri, status in result.items():
            console().print(f"{status}  {uri}", markup=False, soft_wrap=True)
    if job is None and "FAILED" in result.values():
        raise typer.Exit(1)


def show_progress(job: dict[str, Any]) -> None:
    """Print one line on standard error if it is a terminal."""
    out = console(stderr=True)
    if out.is_terminal:
        statistics = job.get("statistics") or {}
        count = statistics.get("numberOfDocumentsScanned", "")
        out.print(f"{job.get('status', len(job))} {count}".rstrip(), markup=False)


@kb.command("status", epilog=EXAMPLES)
def status(
    uris: Uris = None,
    source_id: SourceOption = None,
    kb: BaseOption = "local",
    aws: AwsOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Print the status of the named documents, or of all data sources."""
    from sleuth import knowledge_base
    from sleuth.knowledge_base.clients import default_client
    from sleuth.knowledge_base.ingestion import TIMEOUT

    with client_of(aws, index) as client:
        if uris:
            source = needed(source_id)
            statuses = knowledge_base.batch_check_document_statuses(kb, source, uris, client=client)
        else:
            agent = client or default_client("bedrock-agent", TIMEOUT)
            sources = agent.list_data_sources(knowledgeBaseId=kb, maxResults=100)["dataSourceSummaries"]
            statuses = {str(one["dataSourceId"]): str(one["status"]) for one in sources}
    if json:
        print_json(statuses)
        return
    for name, state in statuses.items():
        console().print(f"{state}  {name}", markup=False, soft_wrap=True)
    if not statuses:
        console(stderr=True).print("No data sources.")


def needed(source_id: str | None) -> str:
    """Return the id of the data source; raise ArgumentError without one."""
    if not source_id:
        raise ArgumentError("--source-id must be given: the id of the data source")
    return source_id
