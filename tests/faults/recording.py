"""Records what a process writes and syncs, and makes of it what a disk may hold after a power cut.

strace tells the calls with their bytes. Until a file is synced, any of its writes may be missing or torn; until a
folder is synced, the last of the names that were made, changed or removed in it may be missing. This is what POSIX
promises; most file systems keep more.
"""

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.proof import ROOT
from tests.faults.test_syncs import STRACE, joined

_CALLS = (
    "write,pwrite64,writev,pwritev,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,"
    "unlink,unlinkat,openat,mkdir,mkdirat,rmdir,copy_file_range,sendfile,fallocate"
)
_SECTOR = 512
_STRING = r'"((?:\\x[0-9a-f]{2})*)"'
_path = re.compile(r"<((?:\\x[0-9a-f]{2})+)>")
_call = re.compile(r"^\d+ +(\w+)\((.*)\) += (\d+)(?:<(.*)>)?$")
_write = re.compile(rf"^\d+<(.*?)>, {_STRING}, \d+(?:, (\d+))?$")
_place = re.compile(rf"(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?{_STRING}")


@dataclass
class _File:
    """A file: its bytes on the disk, and what was done since: (place, bytes), or (length, None) to cut it there.

    Attributes:
        length: as the process sees it, for writes at the end.
    """

    disk: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    length: int = 0


@dataclass(frozen=True)
class Call:
    """One thing that a process did.

    Attributes:
        kind: "write", "cut", "sync", "make", "link", "move", "remove" or "say".
        path: of the file, or of the folder that is synced.
        place: where bytes are written, -1 at the end; the length of a file that is cut.
        data: what is written or said.
        target: the new path of what is moved or linked.
    """

    kind: str
    path: str
    place: int = 0
    data: bytes = b""
    target: str = ""


def record(command: Sequence[str], below: Path, log: Path) -> list[Call]:
    """Run a command; return what it did to files and folders below a path, and what it said, in order."""
    result = subprocess.run(
        [str(STRACE), "-f", "-y", "-xx", "-s", "100000000", "-o", str(log), "-e", f"trace={_CALLS}", *command],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    calls = [call for line in joined(log.read_text().splitlines()) for call in _calls_of(line)]
    return [call for call in calls if call.kind == "say" or call.path.startswith(str(below))]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _calls_of(line: str) -> Iterator[Call]:
    match = _call.match(_path.sub(lambda path: f"<{_bytes(path[1]).decode()}>", line))
    if match is None:
        return
    name, arguments, _, target = match.groups()
    arguments = arguments.strip()
    if name in ("write", "pwrite64"):
        yield from _writes(arguments)
    elif name in ("fsync", "fdatasync"):
        yield Call("sync", arguments.partition("<")[2].rstrip(">"))
    elif name == "ftruncate":
        path, _, length = arguments.partition("<")[2].rpartition(">, ")
        yield Call("cut", path, int(length))
    elif name == "openat":
        if target and "O_CREAT" in arguments:
            yield Call("make", target)
        if target and "O_TRUNC" in arguments:
            yield Call("cut", target, 0)
    elif name.startswith(("rename", "link", "unlink")):
        places = [
            str(Path(place["folder"] or "/") / _bytes(place[2]).decode())
            for place in _place.finditer(arguments)
        ]
        kind = {"r": "move", "l": "link", "u": "remove"}[name[0]]
        yield Call(kind, places[0], target=places[1] if len(places) > 1 else "")
    elif not name.startswith(("mkdir", "rmdir")):
        raise AssertionError(f"a call that is not replayed: {line[:200]}")


def _writes(arguments: str) -> Iterator[Call]:
    call = _write.match(arguments)
    assert call is not None, arguments[:200]
    path, data, place = call.groups()
    if arguments.startswith("1<"):
        yield Call("say", "", data=_bytes(data))
    else:
        yield Call("write", path, -1 if place is None else int(place), _bytes(data))


class Disk:
    """What lies on a disk while calls are made, and what may be left of it at any moment."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}  # as the process sees them
        self._names: dict[str, _File] = {}  # as they lie on the disk
        self._changes: list[
            tuple[str, dict[str, _File | None]]
        ] = []  # of names: folder, what is at paths now

    def apply(self, call: Call) -> None:
        """Do what a process did."""
        if call.kind == "make":
            if call.path not in self._files:
                self._name(call.path, _File())
        elif call.kind == "write":
            file = self._files[call.path]
            place = file.length if call.place < 0 else call.place
            file.pending.append((place, call.data))
            file.length = max(file.length, place + len(call.data))
        elif call.kind == "cut":
            self._files[call.path].pending.append((call.place, None))
            self._files[call.path].length = call.place
        elif call.kind == "move" and call.path not in self._files:
            self._move_folder(call.path, call.target)
        elif call.kind in ("link", "move"):
            self._name(call.target, self._files[call.path])
            if call.kind == "move":
                self._name(call.path, None)
        elif call.kind == "remove":
            if call.path in self._files:
                self._name(call.path, None)
        elif call.kind == "sync":
            self._sync(call.path)

    def _name(self, path: str, file: _File | None) -> None:
        self._changes.append((str(Path(path).parent), {path: file}))
        _put(self._files, path, file)

    def _move_folder(self, path: str, target: str) -> None:
        """Give a folder another name: at once, of what is in it by then."""
        below = {name: file for name, file in self._files.items() if name.startswith(f"{path}/")}
        moved: dict[str, _File | None] = {}
        for name, file in below.items():
            new = target + name.removeprefix(path)
            if name in self._names:
                moved |= {name: None, new: file}
            else:
                self._changes.append((str(Path(new).parent), {name: None, new: file}))
            _put(self._files, name, None)
            _put(self._files, new, file)
        self._changes.append((str(Path(target).parent), moved))

    def _sync(self, path: str) -> None:
        if path in self._files:
            file = self._files[path]
            file.disk = _applied(file.disk, file.pending)
            file.pending = []
            return
        rest = []
        for change in self._changes:
            if change[0] == path:
                for name, named in change[1].items():
                    _put(self._names, name, named)
            else:
                rest.append(change)
        self._changes = rest

    def write(self, source: Path, target: Path, rng: random.Random, lost: float) -> None:
        """Write what may be left after a cut.

        Args:
            source: the folder that calls name; what was in it lies below `target` then.
            lost: the share of what is not synced that is lost: 1.0 for all, 0.0 for nothing.
        """
        names, count = dict(self._names), len(self._changes)
        kept = count if lost == 0 else 0 if lost == 1 else rng.randint(0, count)
        for _, files in self._changes[:kept]:
            for path, file in files.items():
                _put(names, path, file)
        for path, file in names.items():
            if path.endswith("-shm"):
                continue  # SQLite creates it again
            copy = target / Path(path).relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(_applied(file.disk, _torn(file.pending, rng, lost)))


def _put(names: dict[str, _File], path: str, file: _File | None) -> None:
    if file is None:
        names.pop(path, None)
    else:
        names[path] = file


def _torn(
    pending: Sequence[tuple[int, bytes | None]], rng: random.Random, lost: float
) -> Iterator[tuple[int, bytes | None]]:
    """Yield what happened of some writes: each sector of each, or not."""
    for place, data in pending:
        if data is None:
            if rng.random() >= lost:
                yield place, None
            continue
        at = 0
        while at < len(data):
            end = at + _SECTOR - (place + at) % _SECTOR
            if rng.random() >= lost:
                yield place + at, data[at:end]
            at = end


def _applied(
    disk: bytearray, changes: Sequence[tuple[int, bytes | None]] | Iterator[tuple[int, bytes | None]]
) -> bytearray:
    content = bytearray(disk)
    for place, data in changes:
        if data is None:
            content = content[:place] + bytes(max(0, place - len(content)))
        else:
            content += bytes(max(0, place - len(content)))
            content[place : place + len(data)] = data
    return content
