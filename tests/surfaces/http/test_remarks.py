"""What is wrong with an answer reaches every client: missing parts, notes, and citations that no source has."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from sleuth.surfaces.cli.serve import extensions
from sleuth.testing.ollama import OllamaServer

from .conftest import Local, break_embedder, events, make_index, serving

QUERY = "how often are tokens refiolled"
"""Its last word is misspelt, which is noted of a question."""


class Remarks(NamedTuple):
    """What a client reads.

    Attributes:
        degraded: what says that a part is missing.
        notes: as text.
        unknown: the numbers that no source has; None where a door writes no answer.
    """

    degraded: Any
    notes: str
    unknown: Any


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server whose embedder is down, and whose model cites a source that does not exist."""
    index = make_index(tmp_path_factory.mktemp("troubled") / "sleuth")
    with (
        pytest.MonkeyPatch.context() as patch,
        OllamaServer(reply=lambda _: "Every second [1]. See also [9].") as model,
    ):
        patch.setenv("OLLAMA_HOST", model.url)
        with serving(index, model="llama3.1", extensions=extensions()) as server:
            break_embedder(server, patch)
            yield server


def of_answer(values: Any) -> Remarks:
    assert values["detail"]["code"] == "degraded"
    assert values["detail"]["context"]["failed"][0]["name"] == "dense"
    return Remarks(values["degraded"], str(values["notes"]), values["unknown_citations"])


def of_ranking(values: Any) -> Remarks:
    failed = [part["name"] for part in values["parts"] if part["status"] == "failed"]
    assert failed == ["dense"]
    return Remarks(values["degraded"], str(values["notes"]), None)


def search(server: Local) -> Remarks:
    return of_ranking(server.client.post("/v1/search", json={"query": QUERY, "filter": "tenent!=zoo"}).json())


def ask(server: Local) -> Remarks:
    return of_answer(server.client.post("/v1/ask", json={"query": QUERY}).json())


def ask_streamed(server: Local) -> Remarks:
    response = server.client.post("/v1/ask", json={"query": QUERY, "stream": True})
    return of_answer(dict(events(response))["result"])


def agent(server: Local) -> Remarks:
    answer = server.tool("", "search", query=QUERY, kind="zoo").json()
    values = json.loads(answer["result"]["content"][0]["text"])
    assert values["failures"] == ["dense: the embedder is down"] or "dense" in values["failures"][0]
    return Remarks(bool(values["failures"]), str(values["notes"]), None)


WARNING = "The model cites passages that do not exist: [9]."


def page(server: Local) -> Remarks:
    text = server.client.get("/", params={"q": QUERY, "answer": "1"}).text
    return Remarks("the embedder is down" in text, text, [9] if WARNING in text else None)


def page_streamed(server: Local) -> Remarks:
    text = server.client.get("/", params={"q": QUERY}).text
    answer = dict(events(server.client.get("/answer", params={"q": QUERY})))["answer"]
    return Remarks("the embedder is down" in text, text, [9] if WARNING in str(answer) else None)


IN_SEARCHES, OF_AGENTS, IN_ANSWERS, ON_PAGES = "'tenent'", "kind", "answered instead", "did you mean"
"""Words of the note, by kind of door."""

DOORS = [
    (search, IN_SEARCHES), (agent, OF_AGENTS), (ask, IN_ANSWERS), (ask_streamed, IN_ANSWERS),
    (page, ON_PAGES), (page_streamed, ON_PAGES),
]  # fmt: skip


@pytest.mark.parametrize(("door", "note"), DOORS, ids=[door.__name__ for door, _ in DOORS])
def test_each_client_is_told(troubled: Local, door: Callable[[Local], Remarks], note: str) -> None:
    """Each door says that a part is missing, what is wrong with the query, and which citations have no source."""
    remarks = door(troubled)
    assert remarks.degraded is True
    assert note in remarks.notes
    assert remarks.unknown == (None if note in (IN_SEARCHES, OF_AGENTS) else [9])


def test_a_whole_answer_says_that_nothing_is_missing(server: Local) -> None:
    """Where all parts answer, `degraded` is false."""
    body = {"query": "how often are tokens refilled"}
    for path in ("/v1/search", "/v1/ask"):
        values = server.client.post(path, json=body).json()
        assert (values["degraded"], values["notes"]) == (False, [])
