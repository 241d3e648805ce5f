"""sleuth web crawl: crawls a site into an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from sleuth.surfaces.cli import (
    Bar,
    Output,
    command,
    human_bytes,
    index_folder,
    new_or_open_index,
    web_cache,
    web_commands,
)

EXAMPLES = """
  sleuth web crawl https://docs.example.org/              pages that links of this host lead to
  sleuth web crawl https://docs.example.org/sitemap.xml   pages that a sitemap lists
  sleuth web crawl https://wiki.corp/ --allow-network 10.0.0.0/8 --pages 5000

Run it again to go on after Ctrl-C or a limit, or to ask for what changed.
"""

_SHOWN = 10
"""Skipped addresses that are named."""


@command(web_commands, "crawl", EXAMPLES)
def crawl(
    start: Annotated[str, "A page, whose links are followed, or a sitemap."],
    *,
    pages: Annotated[int, "Requests at most.", Ge(1)] = 1000,
    bytes: Annotated[int, "Bytes at most.", Ge(1)] = 200_000_000,
    seconds: Annotated[float, "Seconds at most."] = 3600.0,  # an hour
    delay: Annotated[float, "Seconds between requests."] = 0.5,
    host: Annotated[list[str] | None, "Visit pages of this host, too."] = None,
    allow_network: Annotated[
        list[str] | None, "Visit this network, such as 10.0.0.0/8, although it is private."
    ] = None,
    show: Bar,
    index: Path | None = None,
) -> Output:
    """Crawl a web site into the index: `robots.txt` is obeyed, and pages that did not change are not sent again."""
    from hashlib import sha256

    from sleuth.plugins.crawl import CrawlLimits, SiteSource

    limits = CrawlLimits(pages, bytes, seconds, delay, tuple(host or ()), tuple(allow_network or ()))
    target = index_folder(index)
    name = sha256(f"{target.absolute()}\n{start}".encode()).hexdigest()[:32]
    source = SiteSource(start, limits, web_cache().parent / "crawls" / f"{name}.jsonl")
    crawl = source.crawl

    def progress(now: object) -> None:
        show(f"crawling {start}: {crawl.pages:,} requests, {crawl.waiting:,} addresses left")

    with new_or_open_index(target) as engine:
        report = engine.index([source], prune=True, progress=progress)
    facts = {name: getattr(crawl, name) for name in ("pages", "size", "waiting", "is_complete")}
    lines = [
        f"{crawl.pages:,} requests, {human_bytes(crawl.size)}: {report.added:,} added, {report.updated:,} updated, "
        f"{report.unchanged:,} unchanged, {report.pruned:,} deleted in {target}"
    ]
    if not crawl.is_complete:
        lines.append(f"{crawl.waiting:,} addresses are left: run it again to go on")
    failures = [skip for skip in report.skipped if skip.kind != "vanished"]
    skips = [f"skipped {skip.path}: {skip.reason.removeprefix(skip.path).strip()}" for skip in failures]
    remark = [f"and {len(skips) - _SHOWN:,} more"] if len(skips) > _SHOWN else []
    return Output({**report.to_dict(), **facts}, lines, skips[:_SHOWN] + remark)
