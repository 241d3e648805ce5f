"""Searchers on Ray answer as one index does, and survive the death of one of them. Slow: `make cluster` runs them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from sleuth import ArgumentError, Document, Engine, StoreError
from sleuth.cluster import ShardedEngine, publish
from sleuth.plugins.ray import RouterOptions, serve_from_ray
from sleuth.plugins.ray.engine import RayEngine
from tests.cluster.shards.test_equality import assert_equal
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

WORDS = ["tide", "moon", "harbour", "ship", "rope", "sail", "wind", "gull"]


def documents(n: int, last: str = "tide") -> list[Document]:
    return [
        Document(
            " ".join([*(WORDS[(i * j + j) % 8] for j in range(1, 9)), last]), {"year": i % 10}, id=f"d{i}"
        )
        for i in range(n)
    ]


@pytest.fixture
def index(tmp_path: Path, address: str) -> Path:
    with ShardedEngine.open(tmp_path / "many", create=True, shards=4) as engine:
        engine.add(documents(120))
    publish(tmp_path / "many", address)
    return tmp_path / "many"


def processes(engine: RayEngine) -> dict[str, int]:
    """Number of the process of each searcher, by name."""
    return {searcher["name"]: searcher["process"] for searcher in engine.status()["searchers"]}


@pytest.mark.usefixtures("index")
def test_rankings_and_contents_equal_those_of_one_index(address: str, tmp_path: Path) -> None:
    """Items, scores, explanations, counts and listings are those of one index; changes are refused."""
    with Engine.open(tmp_path / "one", create=True) as one, serve_from_ray(address) as many:
        one.add(documents(120))
        assert_equal(one, many, ["tide moon", "gull rope", "sail"])
        assert many.count("year<5") == one.count("year<5")
        assert many.facets("year", query="gull") == one.facets("year", query="gull")
        assert many.metadata_keys() == one.metadata_keys()
        assert many.list_documents(filter="year=3", limit=5) == one.list_documents(filter="year=3", limit=5)
        assert many.get("d7") == one.get("d7") != []
        assert many.retrieve("moon", filter="yeer=4").notes == one.retrieve("moon", filter="yeer=4").notes
        with pytest.raises(StoreError, match="is read-only: `sleuth cluster index"):
            many.add(documents(1))
        with pytest.raises(ArgumentError, match="legs must be among"):
            many.retrieve("moon", legs=["code"])


@pytest.mark.usefixtures("index")
def test_everything_listens_on_loopback_with_a_token(ray: Any, address: str) -> None:
    """No port of Ray's processes is open to other machines, and clients need a token."""
    assert ray.util.get_node_ip_address() == "127.0.0.1"
    assert os.environ["RAY_AUTH_MODE"] == "token"
    with serve_from_ray(address) as engine:
        inodes = {inode for process in processes(engine).values() for inode in sockets_of(process)}
        listening = [local for local, inode in listeners() if inode in inodes]
    assert listening
    for local in listening:
        assert local.endswith("0100007F") or local == "00000000000000000000000001000000"


def sockets_of(process: int) -> Iterator[str]:
    for link in Path(f"/proc/{process}/fd").iterdir():
        if link.is_symlink() and (match := re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink()))):
            yield match[1]


def listeners() -> Iterator[tuple[str, str]]:
    """Local address in hex and inode of each listening TCP socket."""
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                yield fields[1].partition(":")[0], fields[9]


@pytest.mark.usefixtures("index")
def test_without_replicas_answers_name_what_is_missing(address: str) -> None:
    """A killed searcher's shards are missing from rankings, which say so, until it is back by itself."""
    with serve_from_ray(address, options=RouterOptions(searchers=2, deadline=5)) as engine:
        whole = engine.retrieve("tide moon", 20)
        assert whole.failures == ()
        os.kill(processes(engine)["searcher 0.0"], signal.SIGKILL)
        ranking = engine.retrieve("tide moon", 20)
        assert {part.name for part in ranking.failures} <= {"shard-00000", "shard-00002"}
        # Words are named as missing only when all shards say so.
        notes = [note for note in engine.retrieve("tidde", syntax=True).notes if "no passage" in note]
        assert notes in ([], ["no passage holds 'tidde'; did you mean 'tide'?"])
        wait_until(lambda: engine.status()["counts"].get("revived") or not engine.retrieve("tide moon"))
        again = engine.retrieve("tide moon", 20)
        assert again.failures == ()
        assert [(item.id, item.score) for item in again] == [(item.id, item.score) for item in whole]


@pytest.mark.usefixtures("index")
def test_with_two_replicas_nothing_is_missing_under_load(address: str) -> None:
    """Of queries on four threads, none misses a shard while a searcher is killed and comes back."""
    options = RouterOptions(searchers=2, replicas=2, hedge_after=0.2, deadline=30)
    with serve_from_ray(address, options=options) as engine:
        whole = engine.retrieve("tide moon", 20)

        def load(number: int) -> tuple[int, int]:
            queries = wrong = 0
            end = time.monotonic() + 60
            while queries < 20 or not engine.status()["counts"].get("revived"):
                ranking = engine.retrieve("tide moon", 20)
                queries, wrong = queries + 1, wrong + (ranking.items != whole.items or bool(ranking.failures))
                assert time.monotonic() < end
            return queries, wrong

        with ThreadPoolExecutor(4) as pool:
            counts = [pool.submit(load, number) for number in range(4)]
            os.kill(processes(engine)["searcher 1.0"], signal.SIGKILL)
            results = [count.result() for count in counts]
    assert sum(queries for queries, _ in results) >= 80
    assert sum(wrong for _, wrong in results) == 0


@pytest.mark.usefixtures("index")
def test_a_late_replica_is_not_waited_for(address: str) -> None:
    """While a searcher is alive and does not answer, its replica is asked, and nothing is missing or counts as lost."""
    options = RouterOptions(searchers=2, replicas=2, hedge_after=0.2, deadline=60)
    with serve_from_ray(address, options=options) as engine:
        whole = engine.retrieve("tide moon", 20)
        late = processes(engine)["searcher 0.0"]
        os.kill(late, signal.SIGSTOP)
        try:
            rankings = [engine.retrieve("tide moon", 20) for _ in range(6)]
            counts = dict(engine.status()["counts"])
        finally:
            os.kill(late, signal.SIGCONT)
        assert all(ranking.items == whole.items and ranking.failures == () for ranking in rankings)
        assert counts["hedged"] > 0
        assert "lost" not in counts
        assert engine.retrieve("tide moon", 20).items == whole.items


def test_a_new_version_is_rolled_out_while_queries_run(index: Path, address: str) -> None:
    """Each query sees one version of all shards, the old one or the new one; then the old one is closed."""
    with serve_from_ray(address, options=RouterOptions(searchers=2)) as engine:
        assert engine.roll_out() is None
        with ShardedEngine.open(index) as writer:
            writer.add(documents(120, last="storm"))
        publish(index, address)
        answers = set()
        with ThreadPoolExecutor(1) as pool:
            rolled = pool.submit(engine.roll_out)
            while not rolled.done():
                answers.add(words_of(engine))
            assert rolled.result() == 2
        answers.add(words_of(engine))
        assert answers <= {"tide", "storm"}
        assert words_of(engine) == "storm"


def words_of(engine: RayEngine) -> str:
    """The last word of all documents in a ranking; several, in order, where versions are mixed."""
    return " ".join(sorted({item.text.split()[-1] for item in engine.retrieve("moon ship wind", 40)}))


def test_the_command_serves_and_follows_versions(index: Path, address: str, ray: Any) -> None:
    """`sleuth cluster serve --address --follow` answers over HTTP, goes over to a new version, and ends in order."""
    command = ["cluster", "serve", address, "--searchers", "2", "--follow", "0.2", "--port", "0"]
    where = ["--address", ray.get_runtime_context().gcs_address, "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sleuth", *command, *where], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("Sleuth answers on "), line + process.stderr.read()
        url = line.split()[-1]

        def words() -> set[str]:
            """The last words of the hits of a search."""
            answer = httpx.post(f"{url}/v1/search", json={"query": "moon ship wind", "k": 40}, timeout=60)
            assert answer.status_code == 200, answer.text
            return {item["text"].split()[-1] for item in answer.json()["items"]}

        assert words() == {"tide"}
        with ShardedEngine.open(index) as writer:
            writer.add(documents(120, last="storm"))
        publish(index, address)
        wait_until(lambda: words() == {"storm"})
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
