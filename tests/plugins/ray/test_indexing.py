"""Building an index on Ray gives what indexing on one machine gives. Slow: `make cluster` runs them."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Engine
from sleuth.__main__ import main
from sleuth.cluster import versions
from sleuth.errors import EmbeddingError
from sleuth.ingest import IndexProgress
from sleuth.plugins.ray import index_on_ray
from sleuth.testing.ollama import OllamaServer
from tests.code.conftest import write
from tests.plugins.ray.conftest import ranked
from tests.plugins.ray.processes import processes_below

pytestmark = pytest.mark.slow


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Text, Markdown, JSON lines and Parquet."""
    from pyarrow import Table, parquet

    rows = "\n".join(json.dumps({"text": f"harbour {n}", "year": n}) for n in range(20))
    files = {f"{n}.md": f"# Tide {n}\n\nThe moon pulls {n} times.\n" for n in range(6)}
    folder = write(tmp_path / "corpus", {**files, "rows.jsonl": rows, "broken.parquet": "not parquet"})
    parquet.write_table(
        Table.from_pylist([{"text": f"gull {n}", "year": n} for n in range(20)]), folder / "rows.parquet"
    )
    return folder


def contents(engine: Engine) -> dict[str, Any]:
    return {document.id: (document.content_hash, document.chunks) for document in engine.documents()}


def test_a_build_equals_indexing_on_one_machine(ray: Any, corpus: Path, address: str, tmp_path: Path) -> None:
    """Ids, contents and rankings are those of `sleuth index`; once more changes nothing and publishes nothing."""
    states: list[IndexProgress] = []
    report = index_on_ray(address, [corpus], shards=3, workers=2, progress=states.append)
    assert (report.version, report.added, report.documents) == (1, 46, 46)
    assert [each.reason.partition(":")[0] for each in report.skipped] == ["not Parquet"]
    assert states[-1].files == states[-1].total_files == 9
    assert states[-1].bytes == report.bytes
    with Engine.open(tmp_path / "elsewhere" / "one", create=True) as one, Engine.open(address) as engine:
        one.index([corpus])
        assert contents(engine) == contents(one)
        for query in ("moon pulls", "gull 7", "harbour"):
            assert ranked(engine, query) == ranked(one, query)
    again = index_on_ray(address, [corpus], workers=2)
    assert (again.version, again.added, again.unchanged) == (1, 0, 46)
    (corpus / "0.md").write_text("The moon is gone.")
    update = index_on_ray(address, [corpus], workers=2)
    assert (update.version, update.added, update.updated) == (2, 0, 1)
    with pytest.raises(ArgumentError, match="shards must be 3"):
        index_on_ray(address, [corpus], shards=4)


def texts_of(server: OllamaServer) -> Counter[str]:
    """Count how often each text was embedded in a batch; one text alone is a query, or a trial of batches."""
    batches = [payload["input"] for payload in server.payloads("/api/embed")]
    return Counter(text for batch in batches if len(batch) > 1 for text in batch)


def test_a_slow_model_embeds_in_tasks_that_read(
    ray: Any, ollama: OllamaServer, corpus: Path, address: str, tmp_path: Path
) -> None:
    """Each text is embedded once, whatever the shard; the index is that of one machine; again, nothing is embedded."""
    before = texts_of(ollama)
    settings = {"embedder": "ollama:nomic-embed-text"}
    report = index_on_ray(address, [corpus], shards=3, workers=2, settings=settings)
    requests = texts_of(ollama) - before
    assert (report.added, len(requests), set(requests.values())) == (46, 46, {1})
    with Engine.open(tmp_path / "elsewhere" / "one", create=True, settings=settings) as one:
        one.index([corpus])
        with Engine.open(address) as engine:
            assert contents(engine) == contents(one)
            assert engine.status()["legs"]["dense"]["uncovered"] == 0
            for query in ("moon pulls", "gull 7"):
                for legs in (["dense"], None):
                    assert ranked(engine, query, legs=legs) == ranked(one, query, legs=legs)
    (corpus / "0.md").write_text("The moon is gone.")
    start = len(ollama.requests)
    assert index_on_ray(address, [corpus], workers=2).updated == 1
    bodies = [json.loads(request.body) for request in list(ollama.requests)[start:]]
    assert {str(body.get("prompt") or body["input"][0]) for body in bodies} == {"0 The moon is gone."}


def test_a_model_that_does_not_answer_ends_the_build(
    ray: Any, ollama: OllamaServer, corpus: Path, address: str
) -> None:
    """Its error is raised as on one machine, and nothing is published."""
    settings = {"embedder": "ollama:unknown"}
    with pytest.raises(EmbeddingError, match="ollama pull unknown"):
        index_on_ray(address, [corpus], shards=2, workers=1, settings=settings)
    assert versions(address) == []
    with pytest.raises(ArgumentError, match="embedder must be one that every machine can open by its name"):
        index_on_ray(address, [corpus], shards=2, settings={"embedder": "custom:mine"})


def test_a_build_that_was_broken_off_is_gone_on_with(ray: Any, corpus: Path, address: str) -> None:
    """Files of finished waves are not read again; nothing is published before all are read."""

    def stop(now: IndexProgress) -> None:
        if now.files > 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_on_ray(address, [corpus], shards=2, workers=1, wave_bytes=100, progress=stop)
    assert versions(address) == []
    report = index_on_ray(address, [corpus], shards=2, workers=1, wave_bytes=100)
    assert report.resumed > 0
    assert report.resumed + report.read == 9
    assert report.documents == 46
    assert [manifest.number for manifest in versions(address)] == [1]


def test_a_builder_that_dies_costs_a_wave(ray: Any, corpus: Path, address: str) -> None:
    """The wave is read again by new builders, and every document is there once."""
    killed: list[int] = []

    def kill(now: IndexProgress) -> None:
        if not killed:
            killed.extend(processes_below(os.getpid(), "ray::ShardBuilder"))
            for process in killed:
                os.kill(process, signal.SIGKILL)

    report = index_on_ray(address, [corpus], shards=2, workers=1, progress=kill)
    assert killed
    assert report.documents == 46


def test_the_command_builds_an_index(
    ray: Any, corpus: Path, address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sleuth cluster index` prints what it did and nothing of Ray Data's log, and `sleuth search` finds it."""
    for words in (
        ["cluster", "index", address, str(corpus), "--shards", "2", "--workers", "1"],
        ["search", "--index", address, "moon pulls 3"],
    ):
        monkeypatch.setattr("sys.argv", ["sleuth", *words])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert leaving.value.code in (0, None)
    printed = capsys.readouterr().out
    assert not logging.getLogger("ray.data").isEnabledFor(logging.INFO)
    assert f"46 documents, 46 passages in {address}@1" in printed
    assert "The moon pulls 3 times" in printed
