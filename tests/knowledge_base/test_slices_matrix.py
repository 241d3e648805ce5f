"""Two slices that each answer, are throttled, fail, hang or are empty: all 25 cases."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from time import monotonic
from typing import Any

import pytest

from sleuth.errors import KnowledgeBaseError
from sleuth.knowledge_base import MultiSliceRetriever
from sleuth.knowledge_base import retriever as retriever_module
from sleuth.knowledge_base.clients import default_client
from sleuth.knowledge_base.results import uri_of
from sleuth.testing.aws import BedrockServer, encode
from sleuth.testing.faults import FAULTS, Fault, FaultServer
from sleuth.testing.serving import Reply
from tests.examples import examples
from tests.knowledge_base.conftest import DS, KB, set_account
from tests.waiting import latest, settle

QUERY = "pictures of judy"
DEADLINE = 3.0
LATEST = latest(DEADLINE)
BEHAVIOURS = ("answers", "429", "500", "hangs", "empty")
STATUS = {"answers": "ok", "429": "failed", "500": "failed", "hangs": "abandoned", "empty": "ok"}
FILTER = {"topic": {"$eq": "genealogy"}}
ORDERS = {
    (True, True): ("judy.txt", "pictures.txt", "rag.txt"),
    (True, False): ("judy.txt",),
    (False, True): ("pictures.txt", "judy.txt", "rag.txt"),
    (False, False): (),
}
"""Results by whether each slice answers: a raised score puts the match before a page that is closer to the query."""
EMPTY = Reply(200, encode({"retrievalResults": []}), {"Content-Type": "application/json"})


def behave(server: BedrockServer, filtered: str, unfiltered: str) -> None:
    """Make the two slices of a query behave in these ways."""

    def rule(operation: str, params: Mapping[str, Any]) -> Reply | float | None:
        search = params["retrievalConfiguration"]["vectorSearchConfiguration"]
        # The unfiltered slice demands the data source alone, the filtered one more than that.
        behaviour = filtered if "andAll" in search["filter"] else unfiltered
        replies: dict[str, Reply | float | None] = {
            "answers": None,
            "429": server.error(operation, "ThrottlingException", "Rate exceeded"),
            "500": server.error(operation, "InternalServerException"),
            "hangs": 2 * DEADLINE,
            "empty": EMPTY,
        }
        return replies[behaviour]

    server.rules.append(rule)


@pytest.mark.parametrize(("filtered", "unfiltered"), list(product(BEHAVIOURS, BEHAVIOURS)))
def test_matrix(aws: BedrockServer, filtered: str, unfiltered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case has the right results and statuses within the deadline, and an error only if both slices failed."""
    behave(aws, filtered, unfiltered)
    monkeypatch.setattr(retriever_module, "_BACKOFF", 0.01)  # a slice fails long before the deadline
    deadline = DEADLINE if "hangs" in (filtered, unfiltered) else 60.0
    retriever = MultiSliceRetriever(timeout_seconds=deadline)
    default_client("bedrock-agent-runtime", deadline)  # made once, at the cost of more time than a call
    started = monotonic()
    if {STATUS[filtered], STATUS[unfiltered]} <= {"failed", "abandoned"}:
        with pytest.raises(KnowledgeBaseError):
            retriever.retrieve(QUERY, KB, DS, FILTER)
    else:
        results = retriever.retrieve(QUERY, KB, DS, FILTER)
        names = ORDERS[filtered == "answers", unfiltered == "answers"]
        assert [uri_of(result) for result in results] == [f"s3://bucket/{name}" for name in names]
    assert monotonic() - started <= latest(deadline)
    report = {part.name: part for part in retriever.last_report}
    statuses = {name: part.status for name, part in report.items()}
    assert statuses == {"filtered": STATUS[filtered], "unfiltered": STATUS[unfiltered]}
    for name, behaviour in (("filtered", filtered), ("unfiltered", unfiltered)):
        part = report[name]
        assert 0 < part.seconds <= latest(deadline)
        assert bool(part.error) == (part.status != "ok")
        assert behaviour != "429" or "ThrottlingException" in part.error


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_peers(faults: FaultServer, monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """R16: with any fault of the service, the call ends within its deadline with an error that names the base."""
    set_account(monkeypatch, faults.url(fault))
    retriever = MultiSliceRetriever(timeout_seconds=DEADLINE)
    default_client("bedrock-agent-runtime", DEADLINE)  # made once, at the cost of more time than a call
    started = monotonic()
    with pytest.raises(KnowledgeBaseError, match=KB):
        retriever.retrieve("judy", KB, DS)
    assert monotonic() - started <= LATEST


def test_a_limited_rate(aws: BedrockServer) -> None:
    """A service that accepts 20 requests a second answers 40 calls of four threads."""
    aws.limit_rate(20)
    retriever = MultiSliceRetriever(timeout_seconds=30.0)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: retriever.retrieve(f"judy {number}", KB, DS), range(40)))
    assert [len(answer) for answer in answers] == [3] * 40


@pytest.mark.parametrize("code", ["ServiceUnavailableException", "InternalServerException"])
def test_storm(aws: BedrockServer, code: str) -> None:
    """R17: in a full outage attempts per request stay under 1.1, and the recovered service is used at once."""
    aws.rules.append(lambda operation, params: aws.error(operation, code))
    retriever = MultiSliceRetriever()
    for _ in range(100):
        with pytest.raises(KnowledgeBaseError, match=code):
            retriever.retrieve("judy", KB, DS)
    assert len(aws.calls) / 100 < 1.1
    aws.rules.clear()
    assert len(retriever.retrieve("judy", KB, DS)) == 3


def test_nothing_leaks_in_many_calls(
    aws: BedrockServer, faults: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of calls of two slices, most to faulty peers, leave no thread and no descriptor."""
    kinds: list[Fault] = [
        "refuse", "hang", "drip-body", "reset", "truncate", "wrong-type", "garbage", "endless",
    ]  # fmt: skip
    clients = []
    for address in [aws.url, aws.url, *(faults.url(kind) for kind in kinds)]:
        set_account(monkeypatch, address)
        clients.append(default_client("bedrock-agent-runtime", 0.1))

    def call(number: int) -> None:
        retriever = MultiSliceRetriever(clients[number % len(clients)], timeout_seconds=0.1)
        try:
            retriever.retrieve("judy", KB, DS, FILTER)
        except KnowledgeBaseError:
            assert clients[number % len(clients)].meta.endpoint_url != aws.url or retriever.last_report

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(call, range(60)))
    before = settle()  # without those of the pool, which starts fewer where calls end early
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(call, range(examples(1000))))
    # Connections are kept to be used again: at most one per caller and slice of the two clients of a server that
    # answers, both ends of each in this process. A leak in each call that fails would be hundreds.
    most = before._replace(descriptors=before.descriptors + 2 * 2 * 16 * 2)
    assert settle(most).is_within(most)
