"""Async twins: every call of an engine that waits has one, and it does the same."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

from sleuth import Document, Engine

WITHOUT = {
    *("searcher", "idf", "scoped", "wait", "run"),  # for what is built on engines
    *("load_plugins", "unload_plugins", "use_model", "synthesizer", "snippet"),  # nothing is waited for
    "stream_search",  # for `async for` as it is
}
"""Calls that have no twin."""


def test_every_call_has_a_twin() -> None:
    """A twin stands beside each call, with the same arguments and the same result."""
    names = {name for name, _ in inspect.getmembers(Engine, callable) if not name.startswith("_")}
    twins = {name for name in names if inspect.iscoroutinefunction(getattr(Engine, name))}
    assert {name.removeprefix("a") for name in twins} == names - twins - WITHOUT
    for twin in twins:
        call = getattr(Engine, twin.removeprefix("a"))
        assert inspect.signature(getattr(Engine, twin)) == inspect.signature(call)


def test_twins_do_the_same(tmp_path: Path) -> None:
    """What a twin returns is what the call returns."""

    async def work() -> None:
        async with await Engine.aopen(tmp_path / "index", create=True) as engine:
            await engine.aadd([Document("Ocelots sleep.", {"source": "a", "year": 2020})])
            calls: list[tuple[str, list[Any], dict[str, Any]]] = [
                ("get", ["a"], {}),
                ("documents", [], {}),
                ("list_documents", [], {"limit": 1}),
                ("count", ["year:2020"], {}),
                ("facets", ["year"], {"limit": 2}),
                ("metadata_keys", [], {}),
                ("roots", [], {}),
                ("skips", [], {}),
                ("refresh", [], {}),
                ("status", [], {}),
                ("check", [], {"full": True}),
                ("repair", [], {}),
                ("compact", [], {}),
                ("embed", [], {}),
                ("nearest", [engine.embedder.embed_query("ocelots")], {"k": 1}),  # type: ignore[union-attr]
            ]
            for name, positional, options in calls:
                expected = getattr(engine, name)(*positional, **options)
                assert await getattr(engine, f"a{name}")(*positional, **options) == expected, name

    asyncio.run(work())
