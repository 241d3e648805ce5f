"""A published index gets another number of shards, and stays the index that it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine
from sleuth.cluster import publish, versions
from sleuth.errors import StoreError
from sleuth.plugins.ray import index_on_ray, reshard
from sleuth.testing.ollama import OllamaServer
from tests.commands import python, sleuth
from tests.plugins.ray.conftest import ranked
from tests.plugins.ray.test_updates import Pair, contents, corpus, pair, write_rows

pytest.importorskip("obstore", reason="obstore is not installed")

__all__ = ["corpus", "pair"]


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_ids_and_rankings_stay(pair: Pair, shards: int) -> None:
    """All that can be seen equals one machine's; the version before stays; files are updated as before."""
    pair.update()
    states: list[tuple[int, int]] = []
    manifest = reshard(pair.address, shards, progress=lambda *now: states.append(now))
    assert (manifest.number, manifest.shards, manifest.documents) == (2, shards, 340)
    assert states[-1] == (340, 340)
    pair.compare()
    with Engine.open(f"{pair.address}@1") as old, Engine.open(pair.address) as new:
        assert contents(old) == contents(new)
        assert [finding for finding in new.check(full=True) if finding.level != "ok"] == []
    assert reshard(pair.address, shards).number == 2
    pair.shards = shards
    assert pair.update().read == 0
    write_rows(pair.corpus / "rows.jsonl", [{"text": f"harbour {n}", "year": n} for n in range(7)])
    (pair.corpus / "5.md").unlink()
    report = pair.update(prune=True)
    assert (report.version, report.deleted, report.pruned, report.read) == (3, 13, 1, 1)


def test_an_index_without_shards_is_divided(tmp_path: Path) -> None:
    """What `sleuth cluster publish` uploaded of one index gets shards; an invalid number is refused."""
    address = f"file://{tmp_path}/published"
    with Engine.open(tmp_path / "one", create=True, settings={"embedder": ""}) as one:
        one.add([Document(f"tide number {n}", {"year": n}, id=f"d{n}") for n in range(50)])
        publish(one.path, address)
        assert reshard(address, 4).shards == 4
        with Engine.open(address) as many:
            assert contents(many) == contents(one)
            assert ranked(many, "tide 7") == ranked(one, "tide 7")
    with pytest.raises(ArgumentError, match="shards must be"):
        reshard(address, 0)
    with pytest.raises(ArgumentError, match="without a version"):
        reshard(f"{address}@1", 2)


def test_vectors_of_a_slow_model_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No text is embedded again."""
    (tmp_path / "corpus").mkdir()
    for number in range(12):
        (tmp_path / "corpus" / f"{number}.md").write_text(f"The tide comes {number} times.")
    address = f"file://{tmp_path}/published"
    with OllamaServer() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        settings = {"embedder": "ollama:nomic-embed-text"}
        index_on_ray(address, [tmp_path / "corpus"], shards=2, settings=settings)
        before = len(texts_of(server))
        reshard(address, 3)
        assert len(texts_of(server)) == before
        with Engine.open(address) as engine:
            assert engine.status()["legs"]["dense"]["uncovered"] == 0


def texts_of(server: OllamaServer) -> list[Any]:
    return [request for request in server.requests if "The tide" in str(request.body)]


KILL = """
import os, sys
from sleuth.cluster.storage import ObjectFolder
from sleuth.plugins.ray import reshard
put = ObjectFolder.put
def killing(folder, name, data):
    if name.startswith("manifests/"):
        os.kill(os.getpid(), 9)
    return put(folder, name, data)
ObjectFolder.put = killing
reshard(sys.argv[1], 2)
"""


def test_a_kill_changes_nothing(pair: Pair) -> None:
    """The version before answers, and another attempt succeeds."""
    pair.update()
    assert python(KILL, pair.address).returncode == -9
    assert [manifest.number for manifest in versions(pair.address)] == [1]
    pair.compare()
    assert reshard(pair.address, 2).number == 2
    pair.compare()


def test_a_version_that_comes_between_is_not_lost(pair: Pair) -> None:
    """The slower one fails, and the error says to run the command again."""
    pair.update()

    def publish_between(done: int, total: int) -> None:
        if done == total:
            (pair.corpus / "new.md").write_text("A newcomer.")
            pair.published()

    with pytest.raises(StoreError, match=r"version 2 of .* was published meanwhile: run the command again"):
        reshard(pair.address, 2, progress=publish_between)
    pair.compare()


def test_the_command_reshards(pair: Pair, tmp_path: Path) -> None:
    """`sleuth cluster reshard` prints what it published."""
    pair.published()
    result = sleuth("cluster", "reshard", pair.address, "--shards", "2", cwd=tmp_path)
    assert result.stdout == f"340 documents in 2 shards at {pair.address}@2\n", result.stderr
