"""sleuth kb: searches and fills a knowledge base, at AWS or on this machine."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from sleuth.arguments import check_name
from sleuth.errors import ArgumentError, LoadError, SleuthError
from sleuth.surfaces.cli.app import command_group
from sleuth.surfaces.cli.common import Output
from sleuth.surfaces.cli.hits import print_hits
from sleuth.surfaces.cli.opening import open_index
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.cli.progress import Bar
from sleuth.types import Document, Ranking

EXAMPLES = """
  sleuth kb ingest --source-id letters --folder letters/
  sleuth kb search "pictures of Judy" --filter "topic:genealogy"
  sleuth kb status --source-id letters
  sleuth kb search --aws --kb KB12345678 "pictures of Judy"
  sleuth kb search --aws --kb KB12345678 --options '{"overrideSearchType": "HYBRID"}' "pictures of Judy"
  sleuth kb ingest --aws --kb KB12345678 --source-id DS12345678
"""

kb_commands = command_group("kb", "Search and fill knowledge bases.", EXAMPLES)

Aws = Annotated[bool, "Use AWS (AWS_REGION) instead of the index on this machine."]
Base = Annotated[str, "Id of the knowledge base."]
SourceId = Annotated[str | None, "Id of the data source."]
Uris = Annotated[list[str] | None, "Documents, as s3:// addresses or custom ids."]


@contextmanager
def client_of(
    aws: bool, kb: str, index: Path | None, source: str | None = None, folder: Path | None = None
) -> Iterator[Any]:
    """Yield None for AWS, whose clients are made later, or else the index as a knowledge base.

    A folder to read creates a missing index. Errors of boto3 are raised as a `KnowledgeBaseError`.
    """
    from sleuth.knowledge_base import LocalKnowledgeBase
    from sleuth.knowledge_base.errors import explain, wrapped

    if aws:
        try:
            yield None
        except Exception as error:
            if (failure := wrapped(error, explain(error, kb))) is error or isinstance(error, SleuthError):
                raise
            raise failure from error
        return

    sources = {source: folder} if source and folder else {}
    with (
        open_index(index, create=folder is not None) as engine,
        LocalKnowledgeBase(engine, sources=sources, read=documents_of) as local,
    ):
        yield local


def documents_of(path: Path) -> Iterable[Document]:
    """Yield the documents of a file, read by the loaders of `sleuth index`."""
    from sleuth.ingest import Skipped, read

    for record in read([path]):
        if isinstance(record, Skipped):
            raise LoadError(str(path), record.reason)
        if isinstance(record, Document):
            yield record


@command(kb_commands, "search", EXAMPLES)
def search(
    query: Annotated[list[str], "The question; quotes are optional."],
    *,
    k: Annotated[int, "How many passages.", Ge(1)] = 5,
    filter: Annotated[str | None, 'Passages that rank higher, as in "year>=2020".'] = None,
    # As by default in `MultiSliceRetriever`.
    timeout: Annotated[float, "Seconds for each slice."] = 5.0,
    kb: Base = "local",
    source_id: SourceId = None,
    managed: Annotated[bool, "The knowledge base is a managed one of Amazon Bedrock."] = False,
    options: Annotated[
        str | None, """Options of each request as JSON, as in '{"overrideSearchType": "SEMANTIC"}'."""
    ] = None,
    aws: Aws = False,
    json: bool = False,
    index: Path | None = None,
) -> Output:
    """Search with and without the filter at once; matches of the filter rank higher."""
    from sleuth.filters import as_filter, to_mongo
    from sleuth.knowledge_base import MultiSliceRetriever
    from sleuth.knowledge_base.retriever import item_of

    question, tree = " ".join(query), as_filter(filter)
    try:
        request_options = None if options is None else json_format.loads(options)
    except ValueError:
        request_options = ()
    if not isinstance(request_options, dict | None):
        raise ArgumentError(f"--options must be a JSON object, got {options!r}")
    with client_of(aws, kb, index) as client:
        retriever = MultiSliceRetriever(
            client, timeout_seconds=timeout, is_managed=managed, options=request_options
        )
        metadata_filter = None if tree is None else to_mongo(tree)
        results, report = retriever.retrieve_with_report(question, kb, source_id, metadata_filter, k)
    if not json:
        print_hits(question, Ranking(list(map(item_of, results)), report))
    return Output({"results": results, "report": report}, found=results)


@command(kb_commands, "ingest", EXAMPLES)
def ingest(
    uris: Uris = None,
    *,
    source_id: SourceId = None,
    kb: Base = "local",
    folder: Annotated[Path | None, "Folder that the data source reads, on this machine."] = None,
    # As by default in `wait_for_ingestion`: an hour, since a data source may hold many files.
    timeout: Annotated[float, "Seconds to wait until it is done."] = 3600.0,
    aws: Aws = False,
    show: Bar,
    index: Path | None = None,
) -> Output:
    """Read a data source or the named documents into a knowledge base, and wait until it is done."""
    from sleuth import knowledge_base

    def progress(job: dict[str, Any]) -> None:
        count = (job.get("statistics") or {}).get("numberOfDocumentsScanned", "")
        show(f"{job.get('status', len(job))} {count}".rstrip())

    source = check_name(source_id, "--source-id")
    if not aws and folder is None and not uris:
        raise ArgumentError("--folder must be given: the folder that the data source reads")
    with client_of(aws, kb, index, source, folder) as client:
        if uris:
            entries = [{"s3": {"uri": uri}} for uri in uris]
            knowledge_base.ingest_documents_with_retry(kb, source, entries, client=client)
            job = None
        else:
            job = knowledge_base.start_ingestion_with_retry(kb, source, client=client)["ingestionJobId"]
        result = knowledge_base.wait_for_ingestion(
            kb,
            source,
            job,
            s3_uris=uris or (),
            timeout=timeout,
            poll=5.0 if aws else 0.05,  # AWS limits the rate of requests; local polls are cheap
            client=client,
            progress=progress,
        )
    if job is None:
        lines = [f"{status}  {uri}" for uri, status in result.items()]
    else:
        counts = (result.get("statistics") or {}).items()
        lines = [f"{name.removeprefix('numberOf')}: {count}" for name, count in counts]
    return Output(result, lines, found=job is not None or "FAILED" not in result.values())


@command(kb_commands, "status", EXAMPLES)
def status(
    uris: Uris = None,
    *,
    source_id: SourceId = None,
    kb: Base = "local",
    aws: Aws = False,
    index: Path | None = None,
) -> Output:
    """Print the status of the named documents, or of all data sources."""
    from sleuth import knowledge_base
    from sleuth.knowledge_base.clients import default_client
    from sleuth.knowledge_base.ingestion import TIMEOUT

    with client_of(aws, kb, index) as client:
        if uris:
            source = check_name(source_id, "--source-id")
            statuses = knowledge_base.batch_check_document_statuses(kb, source, uris, client=client)
        else:
            agent = client or default_client("bedrock-agent", TIMEOUT)
            sources = agent.list_data_sources(knowledgeBaseId=kb, maxResults=100)["dataSourceSummaries"]
            names = [source_id] if source_id else [str(one["dataSourceId"]) for one in sources]
            status_by_name = {str(one["dataSourceId"]): str(one["status"]) for one in sources}
            statuses = {name: status_by_name.get(name, "NOT_FOUND") for name in names}
    lines = [f"{state}  {name}" for name, state in statuses.items()]
    return Output(statuses, lines or ["No data sources."])
