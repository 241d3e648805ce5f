"""Does to a server and beside it what people do, and says what was acknowledged: run as a process.

`python -m tests.faults.actions FOLDER FIRST ROUNDS` serves the index of a folder, and does all `ACTIONS` in each round;
the number of the first round says with which it begins. Actions are requests and commands, as any user sends them.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx

from sleuth import Engine
from sleuth.cluster import fetch, publish, versions
from sleuth.testing.serving import LocalServer, Reply, Request
from tests.surfaces.http.conftest import running, serving
from tests.waiting import wait_until

ADDED = tuple(f"added{client}" for client in range(4))
Fact = Any
"""What an action was told, as JSON: ids, counts and addresses."""
ENDED = ("completed", "failed", "cancelled", "interrupted")


class Place:
    """A folder with all that actions make, and a server over its index.

    Attributes:
        folder: of the index and of what is published and fetched.
        client: of the server.
    """

    def __init__(self, folder: Path, client: httpx.Client) -> None:
        self.folder, self.client = folder, client

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """Return what the server answers.

        Raises:
            httpx.HTTPStatusError: it refuses.
        """
        return self.client.request(method, path, **more).raise_for_status().json()

    def texts(self, id: str) -> list[str]:
        """Return the texts of a document; none where it does not exist."""
        answer = self.client.get(f"/v1/documents/{quote(id, safe='')}")
        return [] if answer.status_code == 404 else [each["text"] for each in answer.json()["passages"]]

    def run(self, *command: str) -> Any:
        """Run a command over the index; return what it prints as JSON, None where it prints nothing."""
        result = subprocess.run(
            [sys.executable, "-m", "sleuth", *command], cwd=self.folder, capture_output=True, check=False
        )
        assert result.returncode == 0, result.stderr.decode()
        return json.loads(result.stdout) if result.stdout else None

    def ended_job(self, id: str) -> dict[str, Any]:
        """Wait for the end of a job, and return it."""
        wait_until(lambda: self.ask("GET", f"/v1/jobs/{id}")["status"] in ENDED)
        job: dict[str, Any] = self.ask("GET", f"/v1/jobs/{id}")
        return job

    def address(self, name: str) -> str:
        return f"file://{self.folder / name}"


Say = Callable[[str, Fact], None]


def documents_of(name: str, number: int, count: int) -> dict[str, Any]:
    texts = ((f"{name}-{number}-{i}", f"{name} {number} of part {i}") for i in range(count))
    return {"documents": [{"id": id, "text": text, "metadata": {"round": number}} for id, text in texts]}


def add(place: Place, number: int, say: Say) -> None:
    """Add as four clients at a time."""

    def add_one(name: str) -> None:
        place.ask("POST", "/v1/documents", json=documents_of(name, number, 3))
        say("added", [name, number])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add_one, ADDED))


def prove_added(place: Place, fact: Fact) -> None:
    name, number = fact
    for i in range(3):
        assert place.texts(f"{name}-{number}-{i}") == [f"{name} {number} of part {i}"]


def replace(place: Place, number: int, say: Say) -> None:
    body = {"documents": [{"id": "hot", "text": f"round {number}", "metadata": {"round": 0}}]}
    place.ask("POST", "/v1/documents", json=body)
    say("replaced", number)
    place.ask("POST", "/v1/documents/update", json={"ids": ["hot"], "changes": {"round": number}})
    say("updated", number)


def prove_replaced(place: Place, number: Fact) -> None:
    (text,) = place.texts("hot")
    assert int(text.split()[1]) >= number


def prove_updated(place: Place, number: Fact) -> None:
    (passage,) = place.ask("GET", "/v1/documents/hot")["passages"]
    now = int(passage["text"].split()[1])
    assert now > number or passage["metadata"]["round"] == number


def delete(place: Place, number: int, say: Say) -> None:
    place.ask("POST", "/v1/documents", json=documents_of("removed", number, 2))
    ids = [f"removed-{number}-0", f"removed-{number}-1"]
    assert place.ask("POST", "/v1/documents/delete", json={"ids": ids}) == {"ids": ids}
    say("removed", number)


def prove_removed(place: Place, number: Fact) -> None:
    assert place.texts(f"removed-{number}-0") == place.texts(f"removed-{number}-1") == []


def work(place: Place, number: int, say: Say) -> None:
    """Follow a job of three commits."""
    id = place.ask("POST", "/v1/documents?wait=false", json=documents_of("job", number, 1200))["id"]
    say("accepted", id)
    job = place.ended_job(id)
    assert job["status"] == "completed", job
    say("worked", [id, number])


def prove_accepted(place: Place, id: Fact) -> None:
    """A job that was accepted has a record and an end, and what it counts is there."""
    job = place.ended_job(id)
    assert job["status"] in ("completed", "interrupted"), job
    assert job["status"] == "interrupted" or job["done"] == job["total"]
    for document in job["ids"][:: len(job["ids"]) // 5 or 1]:
        assert place.texts(document), document


def prove_worked(place: Place, fact: Fact) -> None:
    id, number = fact
    assert place.ended_job(id)["status"] == "completed"
    assert place.ask("POST", "/v1/count", json={"filter": f"round:{number}"})["documents"] >= 1200
    assert place.texts(f"job-{number}-1199") == [f"job {number} of part 1199"]


def upload(place: Place, number: int, say: Say) -> None:
    """Upload two files of one name in two folders."""
    files = [("files", (f"{name}/README.md", f"upload {number} {name}".encode())) for name in "ab"]
    say("uploaded", [number, place.ask("POST", "/v1/documents/upload", files=files)["ids"]])


def prove_uploaded(place: Place, fact: Fact) -> None:
    number, ids = fact
    assert [place.texts(id) for id in ids] == [[f"upload {number} a"], [f"upload {number} b"]]


def attach(place: Place, number: int, say: Say) -> None:
    """Upload a file as OpenAI's clients do, and wait until a vector store holds it."""
    file = {"file": ("report.md", f"attached {number}".encode())}
    id = place.ask("POST", "/v1/files", files=file, data={"purpose": "assistants"})["id"]
    say("filed", [number, id])
    store = place.ask("POST", "/v1/vector_stores", json={"name": f"store{number}", "file_ids": [id]})["id"]
    path = f"/v1/vector_stores/{store}/files/{id}"
    while (now := place.ask("GET", path)["status"]) != "completed":
        assert now == "in_progress", now
        time.sleep(0.01)
    say("attached", [number, id, store])


def prove_filed(place: Place, fact: Fact) -> None:
    """A file that was taken is processed, or says that it was broken off."""
    number, id = fact
    state = place.ask("GET", f"/v1/files/{id}")
    if state["status"] == "processed":
        assert place.client.get(f"/v1/files/{id}/content").text == f"attached {number}"
    else:
        assert state["status"] == "error", state


def prove_attached(place: Place, fact: Fact) -> None:
    number, id, store = fact
    found = place.ask("POST", f"/v1/vector_stores/{store}/search", json={"query": f"attached {number}"})
    assert [each["file_id"] for each in found["data"]] == [id]


class Site(LocalServer):
    """Pages that name themselves."""

    def answer(self, request: Request) -> Reply:
        body = f"<title>{request.path}</title><p>The page {request.path} is of this site.".encode()
        status = 404 if request.path.endswith(".txt") else 200
        return Reply(status, body, {"content-type": "text/html"})


def crawl(place: Place, number: int, say: Say) -> None:
    with Site() as site:
        url = f"{site.url}/page-{number}"
        options = ("--allow-network", "127.0.0.0/8", "--delay", "0", "--json", "--index", "index")
        place.run("web", "crawl", url, *options)
    say("crawled", url)


def prove_crawled(place: Place, url: Fact) -> None:
    (text,) = place.texts(url)
    assert url.rpartition("/")[2] in text


def copy(place: Place, number: int, say: Say) -> None:
    """Publish the index, and fetch it into a folder of its own."""
    report = place.run("cluster", "publish", place.address("published"), "--json", "--index", "index")
    say("published", [report["version"], report["documents"]])
    version = f"{place.address('published')}@{report['version']}"
    place.run("cluster", "fetch", version, f"fetched-{number}", "--quiet")
    say("fetched", [number, report["documents"]])


def prove_published(place: Place, fact: Fact) -> None:
    number, count = fact
    assert number in {version.number for version in versions(place.address("published"))}
    with Engine.open(f"{place.address('published')}@{number}") as engine:
        sound(engine, count)


def prove_fetched(place: Place, fact: Fact) -> None:
    with Engine.open(place.folder / f"fetched-{fact[0]}") as engine:
        sound(engine, fact[1])


def divide(place: Place, number: int, say: Say) -> None:
    """Publish the index, and publish it once more in three shards."""
    name = f"divided-{number}"
    report = place.run("cluster", "publish", place.address(name), "--json", "--index", "index")
    say("divided", [name, report["documents"], 0])
    place.run("cluster", "reshard", place.address(name), "--shards", "3", "--quiet")
    say("divided", [name, report["documents"], 3])


def prove_divided(place: Place, fact: Fact) -> None:
    name, count, shards = fact
    newest = versions(place.address(name))[0]
    assert (newest.documents, newest.shards or 0) in {(count, shards), (count, 3)}
    with Engine.open(place.address(name)) as engine:
        sound(engine, count)


def sound(engine: Engine, documents: int) -> None:
    """Assert the size of an index in which a check finds nothing."""
    assert engine.count().documents == documents
    assert [finding for finding in engine.check(full=True) if finding.level == "error"] == []


class Action(NamedTuple):
    """Something that people do.

    Attributes:
        do: does it in a round, and says each fact when it is told.
        proofs: of facts by their name; each fails where the fact does not hold any more.
    """

    do: Callable[[Place, int, Say], None]
    proofs: dict[str, Callable[[Place, Fact], None]]


ACTIONS = (
    Action(add, {"added": prove_added}),
    Action(replace, {"replaced": prove_replaced, "updated": prove_updated}),
    Action(delete, {"removed": prove_removed}),
    Action(work, {"accepted": prove_accepted, "worked": prove_worked}),
    Action(upload, {"uploaded": prove_uploaded}),
    Action(attach, {"filed": prove_filed, "attached": prove_attached}),
    Action(crawl, {"crawled": prove_crawled}),
    Action(copy, {"published": prove_published, "fetched": prove_fetched}),
    Action(divide, {"divided": prove_divided}),
)
PROOFS = {name: proof for action in ACTIONS for name, proof in action.proofs.items()}


def command(folder: Path, first: int, rounds: int = 1 << 30) -> list[str]:
    """Return the command that does the actions."""
    return [sys.executable, "-m", "tests.faults.actions", str(folder), str(first), str(rounds)]


def told(lines: Iterable[str]) -> list[tuple[str, Fact]]:
    """Return the facts that were said; a truncated line says none, and neither does one of a command."""
    facts = (line.split(" ", 2) for line in lines if line.startswith("told ") and line.endswith("\n"))
    return [(name, json.loads(fact)) for _, name, fact in facts]


def prove(folder: Path, facts: list[tuple[str, Fact]]) -> None:
    """Every fact holds, no addition is in parts, a check finds nothing, and all actions can be done again."""
    if not facts:  # what is half made is made again
        Engine.open(folder / "index", create=True).close()
    address = f"file://{folder / 'published'}"
    jobs = [*(folder / "index" / "jobs").glob("job_*.json")]
    for file in jobs:
        os.utime(file, (0, 0))  # as if its server had been silent for long
    with serving(folder / "index") as server:
        place = Place(folder, server.client)
        for name, fact in facts:
            try:
                PROOFS[name](place, fact)
            except Exception as error:
                raise AssertionError(f"{name} {fact}: {type(error).__name__}: {error}") from error
        for file in jobs:
            assert place.ask("GET", f"/v1/jobs/{file.stem}")["status"] in ENDED
        ids = [document.id.split("-") for document in server.engine.documents()]
        for name, number in {(id[0], int(id[1])) for id in ids if id[0] in ADDED}:
            prove_added(place, (name, number))
        sound(server.engine, server.engine.count().documents)
    manifest = publish(folder / "index", address)
    for copied in {folder / "again", *folder.glob("fetched-*")}:
        target = copied.with_suffix("")
        if not target.exists() or not any(target.iterdir()):
            fetch(address, target)
            with Engine.open(target) as engine:
                sound(engine, manifest.documents)
        else:
            Engine.open(target).close()
    shutil.rmtree(folder / "again")


def main(folder: Path, first: int, rounds: int) -> None:
    def say(name: str, fact: Fact) -> None:
        print(f"told {name} {json.dumps(fact)}", flush=True)

    with running(folder / "index", "--create", "--quiet") as server:
        place = Place(folder, server.client)
        for number in range(first, first + rounds):
            turn = first % len(ACTIONS)
            for action in (*ACTIONS[turn:], *ACTIONS[:turn]):
                action.do(place, number, say)
        server.stop()


if __name__ == "__main__":
    os.environ.setdefault("SLEUTH_CACHE", str(Path(sys.argv[1]) / "cache"))
    main(Path(sys.argv[1]), *map(int, sys.argv[2:4]))
