"""A web site as a source: its pages are read as files are, and asked again only where they changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from email.utils import mktime_tz, parsedate_tz
from pathlib import Path
from typing import Any

from sleuth.files import whole_file
from sleuth.ingest import FileEntry, Skipped, Source
from sleuth.plugins.crawl.site import Crawl, CrawlLimits, PageRecord, Visit
from sleuth.web import domain_of


class SiteSource(Source):
    """The pages of a web site, each named by its address, in the order in which a crawl meets them.

    Pages are HTML, plain text, Markdown and PDF, read as files of these kinds. A crawl does not see all pages: those
    alone are gone of which the site says so.

    Attributes:
        crawl: the addresses that are asked, and how far it is.
        not_modified: pages that the server said are as before.
    """

    batch = 20  # pages in memory until they are read, of 5 MB at most
    lists_all = False

    def __init__(
        self, start: str, limits: CrawlLimits | None = None, memory: str | Path | None = None
    ) -> None:
        """Crawl from a page, whose links on the same host are followed, or from a sitemap.

        Args:
            memory: a file that remembers pages between crawls: a crawl that did not end goes on, and later ones ask
                only for what changed since. None remembers nothing.

        Raises:
            WebError: a start that is no address.
        """
        self._memory = _Memory(None if memory is None else Path(memory), start)
        self.crawl = Crawl(start, limits or CrawlLimits())
        self.name = "/".join(start.split("/")[:3])
        self.not_modified = 0

    def list(self, known: Callable[[str], FileEntry | None]) -> Iterator[FileEntry | Skipped]:
        """Yield pages as they are asked. What is remembered of one counts while the index has that version of it."""
        records, visited = dict(self._memory.records), set(self._memory.visited)
        for url, record in self._memory.records.items():
            page = known(url)
            if not record.is_stored or page is None or page.etag != record.version:  # ask for all of it
                records[url] = replace(record, etag="", modified="", is_stored=False)
                visited -= {url} if record.is_stored else set()
        self.crawl.records, self.crawl.visited = records, visited
        for visit in self.crawl:
            if visit.record is not None:
                self._memory.add(visit.record)
            page = known(visit.url) if visit.outcome == "unchanged" else None
            self.not_modified += page is not None
            yield page or self._listed(visit)
        if self.crawl.is_complete:
            self._memory.end()

    def _listed(self, visit: Visit) -> FileEntry | Skipped:
        """Return the entry of a page that has changed, or why a page is left out: gone, or not to be asked."""
        record = visit.record
        if visit.outcome != "changed" or record is None:
            return Skipped(visit.url, visit.reason, "vanished" if visit.outcome == "gone" else "unreadable")
        moment = parsedate_tz(record.modified)
        try:
            modified_ns = None if moment is None else mktime_tz(moment) * 1_000_000_000
        except (OverflowError, ValueError):
            modified_ns = None
        metadata = {"url": visit.url, "domain": domain_of(visit.url), "source_type": "web"}
        return FileEntry(
            "", visit.url, len(visit.body), modified_ns, record.version, visit.kind, metadata, visit.body
        )


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
        for text in path.read_bytes().splitlines() if path is not None and path.is_file() else ():
            with suppress(ValueError):  # a line that a kill cut short
                line = json.loads(text)
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

    def add(self, record: PageRecord) -> None:
        """Remember a page."""
        self.records[record.url] = record
        self._write([asdict(record)])

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
