"""Invariants of an index after any failure of the process that wrote it."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sleuth.store.store import Store
from tests.faults.adder import DOCUMENTS, LEGS, deletion_of, legs
from tests.store.words import add, contents, faults

ROOT = Path(__file__).parents[2]


def command(path: Path, first: int = 0, last: int = 1 << 30, size: int = 20) -> list[str]:
    """Return the command that runs the adder."""
    return [sys.executable, "-m", "tests.faults.adder", str(path), str(first), str(last), str(size)]


def outputs_of(commands: Iterable[Sequence[str]], timeout: float | None = None) -> list[str]:
    """Run commands at the same time, which must succeed; return what each printed."""
    processes = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    outputs = [process.communicate(timeout=timeout) for process in processes]
    assert not any(process.returncode for process in processes), "\n".join(error for _, error in outputs)
    return [output for output, _ in outputs]


def told(lines: Iterable[str]) -> tuple[set[int], set[int]]:
    """Return the batches whose addition and whose deletion were acknowledged.

    A truncated line acknowledges nothing. An acknowledged addition acknowledges the deletion of its commit, too.
    """
    words = [line.split() for line in lines if line.endswith("\n")]
    additions = {int(word[1]) for word in words if word[0] == "added"}
    deletions = {int(word[1]) for word in words if word[0] == "deleted"}
    return additions, deletions | {batch for batch in map(deletion_of, additions) if batch is not None}


def prove(path: Path, additions: set[int], deleted: set[int]) -> set[int]:
    """Acknowledged is present, batches are whole, legs agree with the record, a check finds nothing, writing works.

    Returns:
        The batches that are there.
    """
    with Store.open(path, create=not additions) as store:
        store.attach(legs())
        with store.reader() as snapshot:
            texts = contents(snapshot, LEGS[0])
            assert contents(snapshot, LEGS[1]) == texts
        batches: dict[int, int] = {}
        for name in texts:
            document = name.rpartition("#")[0]
            if document != "hot":
                batches[int(document.split("-")[0])] = batches.get(int(document.split("-")[0]), 0) + 1
        torn = {batch for batch, rows in batches.items() if rows != DOCUMENTS + DOCUMENTS // 2}
        assert not torn, f"torn: {torn}"
        lost = additions - deleted - batches.keys()
        # The deletion that came with the commit after the last acknowledged one may have happened.
        assert lost <= {max(additions, default=0)}, f"lost: {lost}"
        if lost:
            assert max(batches) > max(additions)
        assert not deleted & batches.keys(), "deleted batches are back"
        if additions:
            assert int(texts["hot#0"].split()[1]) >= max(additions)
        add(store, "next", "write")
        store.wait()
        findings = faults(store)
        assert not findings, findings
        with store.writer() as writer:
            writer.delete(["next"])
    return set(batches)
