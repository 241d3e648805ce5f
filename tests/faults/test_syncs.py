"""R3: what is referenced or acknowledged was synced before; R4: no false acknowledgement after a failed call."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.proof import ROOT, command, prove, told

STRACE = shutil.which("strace")
pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed")


def trace(calls: str, path: Path, tmp_path: Path, *more: str, last: int = 6) -> tuple[list[str], list[str]]:
    """Run the adder under strace; return its system calls and its output."""
    log, adder = tmp_path / "trace", command(path, 0, last, 3)
    result = subprocess.run(
        [str(STRACE), "-f", "-y", "-o", str(log), "-e", f"trace={calls}", *more, *adder, "files", "unmerged"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if "ptrace" in result.stderr and "not permitted" in result.stderr:
        pytest.skip("strace may not trace here")
    return joined(log.read_text().splitlines()), result.stdout.splitlines(keepends=True)


def joined(lines: list[str]) -> list[str]:
    """Return calls in order of their end, with interrupted ones joined."""
    begun: dict[str, str] = {}
    whole = []
    for line in lines:
        thread = line.split()[0]
        if line.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix("<unfinished ...>")
        elif match := re.search(r"<\.\.\. \w+ resumed>", line):
            whole.append(begun.pop(thread, "") + line[match.end() :])
        else:
            whole.append(line)
    return whole


def test_order_of_syncs(tmp_path: Path) -> None:
    """Segment files are synced before they are renamed, their folder before the commit, the log before the
    acknowledgement.
    """
    path = tmp_path / "index"
    calls, output = trace("write,pwrite64,fsync,fdatasync,rename,renameat,renameat2", path, tmp_path)
    dirty: set[str] = set()
    folder_dirty = False
    acknowledged = 0
    for call in calls:
        if match := re.search(r"\b(p?write(?:64)?)\(\d+<([^>]*)>", call):
            file = match[2]
            if file.endswith("record.sqlite-wal"):
                assert not folder_dirty, f"the log refers to files in a folder that is not synced: {call}"
            if re.search(r"\"(added|deleted) \d", call):
                acknowledged += 1
                assert not dirty & {str(path / "record.sqlite-wal")}, (
                    f"acknowledged before it is durable: {call}"
                )
            elif file.startswith(str(path)) and file.endswith((".tmp", ".seg", "-wal")):
                dirty.add(file)
        elif match := re.search(r"\bf(?:data)?sync\(\d+<([^>]*)>\)\s+= 0", call):
            dirty.discard(match[1])
            folder_dirty &= match[1] != str(path / "segments")
        elif match := re.search(r"\brename\w*\(.*?\"([^\"]*\.tmp)\"", call):
            assert match[1] not in dirty, f"named before it is synced: {call}"
            folder_dirty = True
    assert acknowledged == len(output) >= 6
    assert any(".tmp" in call and "rename" in call for call in calls)
    prove(path, *told(output))


@pytest.mark.slow
@pytest.mark.parametrize("call", ["fsync,fdatasync", "pwrite64", "write", "rename", "ftruncate", "openat"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_failing_calls(tmp_path: Path, call: str, error: str) -> None:
    """Whichever call fails first, acknowledged data is there, and the index opens and is writable."""
    clean = tmp_path / "clean"
    calls, _ = trace(call, clean, tmp_path)
    ours = [i for i, line in enumerate(calls, 1) if str(clean) in line]
    for when in ours[:: max(1, len(ours) // 25)]:
        path = tmp_path / f"index-{when}"
        _, output = trace(call, path, tmp_path, "-e", f"inject={call}:error={error}:when={when}")
        additions, deleted = told(output)
        try:
            prove(path, additions, deleted)
        except AssertionError as failure:
            raise AssertionError(f"call {when} of {call} failing with {error}: {failure}") from failure
