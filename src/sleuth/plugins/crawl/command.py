"""sleuth web crawl: crawls a site into an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.surfaces.cli import (
    IndexOption,
    JsonOption,
    console,
    human_bytes,
    index_folder,
    new_or_open_index,
    print_json,
    say,
    web_cache,
    web_commands,
)

if TYPE_CHECKING:
    from sleuth.plugins.crawl.indexing import CrawlReport

EXAMPLES = """[bold]Examples[/bold]

  sleuth web crawl https://docs.example.org/              pages that links of this host lead to

  sleuth web crawl https://docs.example.org/sitemap.xml   pages that a sitemap lists

  sleuth web crawl https://wiki.corp/ --allow-network 10.0.0.0/8 --pages 5000

Run it again to go on after Ctrl-C or a limit, or to ask for what changed.
"""


@web_commands.command("crawl", epilog=EXAMPLES)
def crawl(
    start: Annotated[str, typer.Argument(help="A page, whose links are followed, or a sitemap.")],
    pages: Annotated[int, typer.Option("--pages", min=1, help="Requests at most.")] = 1000,
    max_bytes: Annotated[int, typer.Option("--bytes", min=1, help="Bytes at most.")] = 200_000_000,
    seconds: Annotated[float, typer.Option("--seconds", help="Seconds at most.")] = 3600.0,  # an hour
    delay: Annotated[float, typer.Option("--delay", help="Seconds between requests.")] = 0.5,
    host: Annotated[list[str] | None, typer.Option("--host", help="Visit pages of this host, too.")] = None,
    allow_network: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-network", help="Visit this network, such as 10.0.0.0/8, although it is private."
        ),
    ] = None,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Crawl a web site into the index: `robots.txt` is obeyed, and pages that did not change are not sent again."""
    from contextlib import ExitStack
    from hashlib import sha256

    from sleuth.plugins.crawl import CrawlLimits, crawl_site

    limits = CrawlLimits(pages, max_bytes, seconds, delay, tuple(host or ()), tuple(allow_network or ()))
    target, err = index_folder(index), console(stderr=True)
    name = sha256(f"{target.absolute()}\n{start}".encode()).hexdigest()[:32]
    memory = web_cache().parent / "crawls" / f"{name}.jsonl"
    with new_or_open_index(target) as engine, ExitStack() as stack:
        progress = None
        if err.is_terminal and not json:
            status = stack.enter_context(err.status(f"crawling {start}"))

            def progress(now: CrawlReport) -> None:
                status.update(f"{now.pages:,} requests, {now.waiting:,} addresses left")

        report = crawl_site(engine, start, limits=limits, memory=memory, progress=progress)
    if json:
        print_json(report.to_dict())
        return
    for address, reason in report.skipped[:10]:
        say(f"skipped {address}: {reason.removeprefix(address).strip()}", err=True)
    if len(report.skipped) > 10:
        say(f"and {len(report.skipped) - 10:,} more", err=True)
    say(
        f"{report.pages:,} requests, {human_bytes(report.size)}: {report.added:,} added, {report.updated:,} updated, "
        f"{report.unchanged + report.not_modified:,} unchanged, {report.gone:,} deleted in {target}"
    )
    if not report.is_complete:
        say(f"{report.waiting:,} addresses are left: run it again to go on")
