"""Crawls a web site into an index: its pages are read as files are, and asked again only where they changed."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from email.utils import mktime_tz, parsedate_tz
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from sleuth.files import whole_file
from sleuth.filters import Compare
from sleuth.ingest import AddReport, ReadOptions, Skipped, read
from sleuth.plugins.crawl.site import Crawl, CrawlLimits, PageRecord, Visit
from sleuth.remote import async_twin
from sleuth.types import Document
from sleuth.web import domain_of

if TYPE_CHECKING:
    from sleuth.engine import Engine

BATCH = 20
"""Pages of a commit."""


@dataclass(slots=True)
class CrawlReport(AddReport):
    """The result of a crawl.

    Attributes:
        pages: requests.
        size: bytes of their answers.
        not_modified: pages that the server said are as before.
        gone: pages whose documents were deleted, if there were any.
        skipped: address and reason of pages that could not be read.
        waiting: addresses that are known and were not asked.
        is_complete: whether nothing is left; otherwise the next crawl goes on.
    """

    pages: int = 0
    size: int = 0
    not_modified: int = 0
    gone: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    waiting: int = 0
    is_complete: bool = False


def crawl_site(
    engine: Engine,
    start: str,
    *,
    limits: CrawlLimits | None = None,
    memory: str | Path | None = None,
    progress: Callable[[CrawlReport], None] | None = None,
) -> CrawlReport:
    """Add the pages of a web site, each as a document whose id is its address.

    Pages are HTML, plain text, Markdown and PDF, read as files of these kinds. They are committed in batches of 20. A
    page that is gone is deleted.

    Args:
        start: a page, whose links on the same host are followed, or a sitemap.
        limits: the bounds; see `CrawlLimits`.
        memory: a file that remembers pages between crawls: a crawl that did not end goes on, and later ones ask only
            for what changed since. None remembers nothing.
        progress: called after each commit.

    Raises:
        ArgumentError: a start that is no address, or a limit out of range.
        WebError: the start cannot be fetched.
        IndexLockedError: another writer did not finish in time.
    """
    crawl_memory = _Memory(None if memory is None else Path(memory), start)
    records = dict(crawl_memory.records)
    for url, record in records.items():
        if not (record.is_stored and engine.get(url)):  # the index lacks its document: ask for all of it
            records[url] = replace(record, etag="", modified="", is_stored=False)
    crawl = Crawl(start, limits or CrawlLimits(), records, crawl_memory.visited)
    total = CrawlReport()
    started = time.monotonic()
    visits = iter(crawl)
    while batch := list(islice(visits, BATCH)):
        crawl_memory.add(_commit(engine, batch, total))
        total.pages, total.size, total.waiting = crawl.pages, crawl.size, crawl.waiting
        total.seconds = time.monotonic() - started
        if progress:
            progress(total)
    total.pages, total.size, total.waiting = crawl.pages, crawl.size, crawl.waiting
    total.is_complete = crawl.is_complete
    if crawl.is_complete:
        crawl_memory.end()
    return total


acrawl_site = async_twin(crawl_site)


def _commit(engine: Engine, visits: Sequence[Visit], total: CrawlReport) -> list[PageRecord]:
    """Add and delete the documents of some pages; return the records to remember."""
    reason_by_url: dict[str, str] = {}
    with TemporaryDirectory(prefix="sleuth-crawl-") as folder:
        visit_by_path = {}
        for number, visit in enumerate(visits):
            if visit.outcome != "changed":
                continue
            # The name and the time of the file are those of the page: they become its title and date.
            page_name = urlsplit(visit.url).path.rstrip("/").rpartition("/")[2]
            stem = PurePosixPath(re.sub(r"[^\w.-]", "-", unquote(page_name))[:80] or "index").stem
            path = Path(folder, f"{number:04}", f"{stem}{visit.suffix}")
            path.parent.mkdir()
            path.write_bytes(visit.body)
            moment = parsedate_tz(visit.record.modified) if visit.record else None
            if moment is not None:
                with suppress(OverflowError, ValueError, OSError):
                    os.utime(path, (mktime_tz(moment),) * 2)
            visit_by_path[str(path)] = visit
        documents = list(_documents(visit_by_path, reason_by_url))
    report = engine.add(documents)
    for visit in visits:
        is_gone = visit.outcome == "gone" and engine.delete(filter=Compare("url", "eq", visit.url))
        total.gone += bool(is_gone)
        total.not_modified += visit.outcome == "unchanged"
        if visit.outcome == "skipped":
            reason_by_url[visit.url] = visit.reason
    total.skipped += reason_by_url.items()
    for name in ("added", "updated", "unchanged"):
        setattr(total, name, getattr(total, name) + getattr(report, name))
    total.version = report.version
    records = (visit.record for visit in visits if visit.record is not None)
    return [replace(record, is_stored=False) if record.url in reason_by_url else record for record in records]


def _documents(visit_by_path: Mapping[str, Visit], reason_by_url: dict[str, str]) -> Iterator[Document]:
    """Read pages from files, as documents that are named by the addresses of the pages."""
    for record in read(list(visit_by_path), options=ReadOptions(hidden=True)):
        if not isinstance(record, Document | Skipped):
            continue
        name = str(record.metadata.get("source") if isinstance(record, Document) else record.path)
        path = next(path for path in visit_by_path if name.startswith(path))
        url = visit_by_path[path].url
        if isinstance(record, Skipped):
            reason_by_url[url] = record.reason
            continue
        metadata = {key: value for key, value in record.metadata.items() if key != "path"}
        page = visit_by_path[path].record
        if page is None or not page.modified:
            metadata.pop("modified", None)
        web = {"source": name.replace(path, url), "url": url, "domain": domain_of(url), "source_type": "web"}
        yield Document(record.page_content, {**metadata, **web})


class _Memory:
    """What is remembered of a site: JSON lines of records, between marks where a crawl began and ended.

    Attributes:
        records: by address.
        visited: addresses that a crawl asked which has not ended.
    """

    def __init__(self, path: Path | None, start: str) -> None:
        self._path = path
        self.records: dict[str, PageRecord] = {}
        self.visited: set[str] = set()
        is_open = False
        for line in _lines(path):
            if line.get("start") == start:
                is_open = line.get("mark") == "began"
                self.visited.clear()
            elif isinstance(line.get("url"), str):
                record = PageRecord(**{**line, "links": tuple(line.get("links", ()))})
                self.records[record.url] = record
                self.visited.add(record.url)
        self._began, self._ended = ({"start": start, "mark": mark} for mark in ("began", "ended"))
        if not is_open:
            self.visited.clear()
            self._write([self._began])

    def add(self, records: Sequence[PageRecord]) -> None:
        """Remember pages that are committed."""
        for record in records:
            self.records[record.url] = record
        self._write([asdict(record) for record in records])

    def end(self) -> None:
        """Remember that a crawl has ended, and forget earlier versions of its pages."""
        if self._path is not None:
            lines = [*map(asdict, self.records.values()), self._ended]
            with whole_file(self._path) as file:
                file.writelines(json.dumps(line).encode() + b"\n" for line in lines)

    def _write(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)


def _lines(path: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines; a line that a kill cut short is left out."""
    if path is None or not path.is_file():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
