"""Options of a call reach the hooks that declare them; an unknown name raises an error with the nearest one."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.arguments import check_names
from sleuth.errors import ArgumentError
from sleuth.hooks.registry import RETRIEVE, SYNTHESIZE
from sleuth.results import StatusCode
from sleuth.web import WebRetriever, asearch_web, search_web, search_web_batch


@pytest.fixture
def engine(engine: Engine) -> Engine:
    engine.add([Document("A zebra is striped.", {"year": year}, id=str(year)) for year in (2020, 2024)])
    return engine


def calls(engine: Engine, **options: Any) -> list[Any]:
    """Return the result of each way to search with these options."""
    with engine.stream_search("zebra", **options) as stream:
        list(stream)
    return [
        engine.search("zebra", **options),
        stream.result,
        engine.manager.execute_search("zebra", **options),
        engine.manager.execute_retrieve("zebra", **options),
    ]


def test_a_misspelt_option_is_refused(engine: Engine) -> None:
    """`fitler=` raises an error instead of searching without a filter."""
    for result in calls(engine, fitler="year:2020"):
        assert result.is_error()
        assert result.detail.code == StatusCode.INVALID
        assert "got 'fitler'; did you mean 'filter'?" in result.detail.message
    for result in calls(engine, filter="year:2020"):
        assert result.is_ok()
    assert "synthesizer must be a Synthesizer or None, got 5" in str(engine.search("zebra", synthesizer=5))


def test_options_of_plugins_are_known(engine: Engine) -> None:
    """Options that a hook declares are passed; a hook with **kwargs gets any except near misspellings."""
    values: list[Any] = []
    engine.hooks.on(RETRIEVE, lambda result, *_, rag2f, region="none": values.append(region))
    assert all(result.is_ok() for result in calls(engine, region="north"))
    assert set(values) == {"north"}
    assert engine.search("zebra", tenant=7).is_error()
    engine.hooks.on(
        SYNTHESIZE, lambda result, items, mode, kwargs, *, rag2f: values.append(kwargs.get("tenant"))
    )
    assert engine.search("zebra", tenant=7).is_ok()
    assert values[-1] == 7
    assert engine.search("zebra", filterr="year:2020").is_error()


@pytest.mark.parametrize("name", ["result", "rag2f", "retrieve_result", "kwargs"])
def test_names_of_ours_are_refused(engine: Engine, name: str) -> None:
    """An option cannot have the name of an argument that Sleuth passes to hooks."""
    for result in calls(engine, **{name: 1}):
        assert result.is_error()
        assert f"got {name!r}" in result.detail.message


def test_an_option_may_be_named_as_a_parameter_of_the_registry(engine: Engine) -> None:
    """`hook_name` reaches a hook as any other option."""
    values: list[Any] = []
    engine.hooks.on(RETRIEVE, lambda result, *_, rag2f, hook_name="": values.append(hook_name))
    assert all(result.is_ok() for result in calls(engine, hook_name="x"))
    assert set(values) == {"x"}


@pytest.mark.parametrize(
    "conditions",
    [{"$and": [{"year": 1}]}, defaultdict(list, {"$and": [{"a": 1}]}), OrderedDict({"$and": ({"a": 1},)})],
    ids=["dict", "defaultdict", "OrderedDict"],
)
def test_hooks_cannot_change_what_the_caller_holds(engine: Engine, conditions: dict[str, Any]) -> None:
    """What a hook changes is changed for this call: dicts, those within lists too, are copied with their class."""
    kinds: list[type] = []

    def empty(result: Any, *_: Any, rag2f: Any, extra: Any = None) -> None:
        kinds.append(type(extra))
        extra["$and"][0].clear()
        extra.clear()

    engine.hooks.on(RETRIEVE, empty)
    before = repr(conditions)
    calls(engine, extra=conditions)
    assert repr(conditions) == before
    assert set(kinds) == {type(conditions)}


def test_options_of_other_calls_are_refused(engine: Engine, tmp_path: Path) -> None:
    """Every call that passes options on refuses a misspelt one with the nearest name."""

    with pytest.raises(ArgumentError, match="did you mean 'include_domains'"):
        asyncio.run(asearch_web("zebra", include_domain=["a.org"]))  # type: ignore[call-arg]
    calls: list[Callable[[], object]] = [
        lambda: engine.unhooked.retrieve("zebra", fitler="year:2020"),
        lambda: search_web("zebra", fitler="x"),  # type: ignore[call-arg]
        lambda: search_web_batch({}, tmp_path / "web.json", fitler="x"),  # type: ignore[call-arg]
        lambda: WebRetriever(fitler="x"),  # type: ignore[call-arg]
        lambda: engine.hooks.execute_hook(RETRIEVE, None, rag2f=None, fitler="x"),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match="got 'fitler'"):
            call()
    assert engine.count("year:2020").documents == 1


def test_names_are_checked_against_the_known_ones() -> None:
    """The nearest known name is suggested; if other names are allowed, only misspellings are refused."""
    check_names(["filter", "legs"], {"filter", "legs"})
    with pytest.raises(
        ArgumentError, match=r"options must be among filter, legs, got 'leg'; did you mean 'legs'\?"
    ):
        check_names(["leg"], {"filter", "legs"})
    with pytest.raises(ArgumentError, match=r"got 'zzz'$"):
        check_names(["zzz"], {"filter", "legs"})
    check_names(["tenant"], {"filter", "legs"}, others=True)
    with pytest.raises(ArgumentError, match="did you mean 'filter'"):
        check_names(["fliter"], {"filter", "legs"}, others=True)
