"""Async twins: every call of an engine that waits has one, and it does the same."""

import inspect

from sleuth import Engine

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
