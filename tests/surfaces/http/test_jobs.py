"""Jobs: changes that go on after their request, with progress, an end, and a record that outlives the server."""

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sleuth import Engine
from sleuth.surfaces.http.job_runs import SILENT_SECONDS, JobRunner, RecordedJob
from sleuth.surfaces.http.lanes import Lane
from tests.waiting import wait_until

from .conftest import Local, keyed, make_index, running, serving


def texts(count: int, kind: str = "newt") -> dict[str, Any]:
    documents = [
        {"text": f"{kind} number {n}", "id": f"{kind}-{n}", "metadata": {"kind": kind}} for n in range(count)
    ]
    return {"documents": documents}


@contextmanager
def locked(index: Path) -> Iterator[None]:
    """Be the writer of an index, so that a job waits."""
    with Engine.open(index) as other, other.store.writer():
        yield


def test_an_add_becomes_a_job(writable: Local) -> None:
    """A client that does not wait gets 202 and the address of a job, which says what was done and to which ids."""
    kind = "toad"
    answer = writable.client.post("/v1/documents?wait=false", json=texts(1200, kind))
    assert answer.status_code == 202, answer.text
    assert answer.json()["kind"] == "add"
    assert answer.headers["location"] == f"/v1/jobs/{answer.json()['id']}"
    job = writable.ended(answer.json()["id"])
    assert (job["status"], job["done"], job["total"], job["added"]) == ("completed", 1200, 1200, 1200)
    assert job["ids"] == [f"{kind}-{n}" for n in range(1200)]
    assert job["error"] is None
    assert job["created_at"] <= job["started_at"] <= job["finished_at"] <= time.time()
    count = writable.client.post("/v1/count", json={"filter": f"kind:{kind}"}).json()
    assert count["documents"] == 1200


def test_a_request_that_waits_is_as_before(writable: Local) -> None:
    """Without the wish for a job an add answers when it is committed; any other value of `wait` is refused."""
    assert writable.client.post("/v1/documents?wait=true", json=texts(2, "eft")).json()["added"] == 2
    wrong = writable.client.post("/v1/documents?wait=soon", json=texts(2, "eft"))
    assert (wrong.status_code, "wait must be true or false" in wrong.text) == (422, True)


def test_files_become_a_job(writable: Local) -> None:
    """Files that can be read are added and those that cannot are named; a job fails that can read none."""
    readable = ("files", ("bees.md", b"# Bees\n\nBees dance.\n"))
    rows = ("files", ("rows.csv", b"text\nAnts\nWasps\n"))
    unreadable = ("files", ("x.bin", bytes(range(256))))
    data = {"metadata": json.dumps({"batch": 9})}
    path = "/v1/documents/upload?wait=false"
    answer = writable.client.post(path, files=[readable, unreadable, rows], data=data)
    assert (answer.status_code, answer.json()["total"]) == (202, 3)
    job = writable.ended(answer.json()["id"])
    assert (job["status"], job["done"], job["added"]) == ("completed", 3, 3)
    added = [writable.client.get(f"/v1/documents/{id}".replace("#", "%23")).json() for id in job["ids"]]
    sources = [each["passages"][0]["metadata"]["source"] for each in added]
    assert sources == ["bees.md", "rows.csv#1", "rows.csv#2"]
    assert [(entry["name"], entry["id"][:5]) for entry in job["skipped"]] == [("x.bin", "file-")]
    assert writable.client.post("/v1/count", json={"filter": "batch:9"}).json()["documents"] == 3
    failed = writable.ended(writable.client.post(path, files=[unreadable]).json()["id"])
    assert failed["status"] == "failed"
    assert (failed["error"]["code"], failed["error"]["status"]) == ("LoadError", 422)


def test_a_job_is_cancelled_between_commits(tmp_path: Path) -> None:
    """What was committed before stays, and the job counts it; other changes come between its steps."""
    index = make_index(tmp_path / "index")
    with serving(index) as server:
        with locked(index):
            job = server.client.post("/v1/documents?wait=false", json=texts(5_000)).json()
            wait_until(lambda: server.client.get(f"/v1/jobs/{job['id']}").json()["status"] == "in_progress")
            waiting = server.client.post("/v1/documents?wait=false", json=texts(1, "eft")).json()
            assert server.client.get(f"/v1/jobs/{waiting['id']}").json()["status"] == "queued"
            assert server.client.post(f"/v1/jobs/{job['id']}/cancel").json()["status"] == "in_progress"
        job = server.ended(job["id"])
        assert (job["status"], job["done"], job["added"], len(job["ids"])) == ("cancelled", 500, 500, 500)
        assert server.client.post("/v1/count", json={"filter": "kind:newt"}).json()["documents"] == 500
        assert server.ended(waiting["id"])["status"] == "completed"
        assert server.client.post(f"/v1/jobs/{job['id']}/cancel").json() == job
        assert server.client.post("/v1/documents", json=texts(1, "olm")).json()["added"] == 1


def test_another_worker_shows_and_cancels_a_job(tmp_path: Path) -> None:
    """Each server over an index knows the jobs of all."""
    index = make_index(tmp_path / "index")
    with serving(index) as one, serving(index) as other:
        with locked(index):
            id = one.client.post("/v1/documents?wait=false", json=texts(1_500)).json()["id"]
            wait_until(lambda: other.client.get(f"/v1/jobs/{id}").json()["status"] == "in_progress")
            other.client.post(f"/v1/jobs/{id}/cancel").raise_for_status()
        assert other.ended(id)["status"] == "cancelled"


def test_a_job_belongs_to_its_key(tmp_path: Path) -> None:
    """Another key neither sees nor cancels a job, whatever it may do else; a tenant's job stays in its scope."""
    keys: dict[str, dict[str, Any]] = {
        "acme": {"filter": "tenant:acme"}, "zoo": {"filter": "tenant:zoo"}, "all": {}, "reader": {"scopes": ["read"]},
    }  # fmt: skip
    with keyed(tmp_path, keys) as server:
        body = {"documents": [{"text": "Of acme.", "id": "a", "metadata": {"tenant": "acme"}}]}
        path = "/v1/documents?wait=false"
        id = server.ask("acme", "POST", path, body).json()["id"]
        job = server.ended(id, "acme")
        assert (job["status"], job["ids"], job["version"]) == ("completed", ["a"], None)
        for name in ("zoo", "all", "reader"):
            assert server.ask(name, "GET", f"/v1/jobs/{id}").status_code == 404
        for name, status in (("zoo", 404), ("all", 404), ("reader", 403), ("acme", 200)):
            assert server.ask(name, "POST", f"/v1/jobs/{id}/cancel").status_code == status
        assert server.ask("reader", "POST", path, body).status_code == 403
        wrong = server.ask("zoo", "POST", path, body).json()
        assert (wrong["code"], "scope" in wrong["detail"]) == ("ArgumentError", True)


def test_too_many_jobs_are_refused(writable: Local) -> None:
    """The ninth job that would wait is a 503 that says when to try again."""
    with locked(writable.engine.path):
        path = "/v1/documents?wait=false"
        answers = [writable.client.post(path, json=texts(1, f"eft{n}")) for n in range(9)]
        assert [answer.status_code for answer in answers] == [202] * 8 + [503]
        assert (answers[8].json()["code"], answers[8].headers["retry-after"]) == ("QueueFullError", "1")
    for answer in answers[:8]:
        assert writable.ended(answer.json()["id"])["status"] == "completed"


def test_a_killed_server_leaves_no_job_running(tmp_path: Path) -> None:
    """After a kill the job says that it was interrupted and how much is committed, which is there."""
    index = make_index(tmp_path / "index")
    with running(index) as server:
        id = server.client.post("/v1/documents?wait=false", json=texts(40_000)).json()["id"]
        file = index / "jobs" / f"{id}.json"
        wait_until(lambda: json.loads(file.read_bytes())["done"] >= 500)
        server.stop(signal.SIGKILL)
    with serving(index) as again:
        assert again.client.get(f"/v1/jobs/{id}").json()["status"] == "in_progress"
        silent = time.time() - SILENT_SECONDS
        os.utime(file, (silent, silent))
        job = again.client.get(f"/v1/jobs/{id}").json()
        assert job["status"] == "interrupted"
        assert 500 <= job["done"] < 40_000
        assert f"at least {job['done']:,} of 40,000 documents are committed" in job["error"]["detail"]
        count = again.client.post("/v1/count", json={"filter": "kind:newt"}).json()["documents"]
        assert count >= job["done"]
        assert again.client.post(f"/v1/jobs/{id}/cancel").json() == job
        rest = again.client.post("/v1/documents?wait=false", json=texts(1000)).json()
        report = again.ended(rest["id"])
        assert report["added"] + report["unchanged"] == 1000


def test_a_server_that_is_stopped_says_so(tmp_path: Path) -> None:
    """SIGTERM ends a job between two commits, and records it at once."""
    index = make_index(tmp_path / "index")
    with running(index) as server:
        id = server.client.post("/v1/documents?wait=false", json=texts(40_000)).json()["id"]
        wait_until(lambda: server.client.get(f"/v1/jobs/{id}").json()["done"] >= 500)
        log = server.stop(signal.SIGTERM)
        assert server.process.returncode == 0, log
    job = json.loads((index / "jobs" / f"{id}.json").read_bytes())
    assert (job["status"], job["error"]["code"]) == ("interrupted", "InterruptedError")
    with Engine.open(index) as engine:
        assert engine.count("kind:newt").documents == job["done"] == len(job["ids"])


def test_jobs_beside_other_requests(writable: Local) -> None:
    """Several jobs and adds at once all end, and each finds its own documents."""
    with ThreadPoolExecutor(8) as pool:
        jobs = [
            pool.submit(writable.client.post, "/v1/documents?wait=false", json=texts(600, f"kind{n}"))
            for n in range(4)
        ]
        adds = [
            pool.submit(writable.client.post, "/v1/documents", json=texts(3, f"more{n}")) for n in range(4)
        ]
    assert [add.result().json()["added"] for add in adds] == [3] * 4
    assert [writable.ended(job.result().json()["id"])["added"] for job in jobs] == [600] * 4


def test_old_jobs_are_forgotten(tmp_path: Path) -> None:
    """The last hundred jobs are remembered; an id is no path, and a file that is no job is ignored."""
    record = JobRunner(Lane("writes", 1, 1), tmp_path)
    for n in range(105):
        record.add(
            RecordedJob(id=f"job_{n:024x}", kind="add", status="completed", created_at=n, total=1, key="a")
        )
    (record.folder / "job_x.json").write_text("{}")
    remembered = [n for n in range(105) if record.read(f"job_{n:024x}") is not None]
    assert remembered == list(range(5, 105))
    assert record.read("../../etc/passwd") is None
