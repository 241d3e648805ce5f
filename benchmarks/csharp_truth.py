"""Prints what each call and instantiation of a folder of C# means, as mcs sees it.

python csharp_truth.py FOLDER: one JSON array a line: [file, line, name, file of the definition or null, its line].
Needs Debian's `mono-mcs` and `libmono-cecil-cil`. The compiled assembly names the method of each call, and its debug
information the line. A method without statements (abstract, of an interface) is looked up in the text, and nothing is
said where its type has several of that name.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

CECIL = "/usr/lib/mono-cecil"
READER = Path(__file__).with_name("CsharpTruth.cs")


class Method(NamedTuple):
    """A method of a type; without statements its path is empty."""

    owner: str
    name: str
    path: str
    line: int


@dataclass
class Assembly:
    """The methods by number, and the calls: path, line, called type, method and its number."""

    methods: dict[int, Method] = field(default_factory=dict)
    calls: list[tuple[str, int, str, str, int]] = field(default_factory=list)


def compiled(root: Path, work: Path) -> Assembly:
    """Compile a folder and the reader of assemblies, and return what the reader prints."""
    references = [f"-r:{CECIL}/Mono.Cecil.dll", f"-r:{CECIL}/Mono.Cecil.Mdb.dll"]
    reader, library = work / "reader.exe", work / "library.dll"
    subprocess.run(["mcs", *references, f"-out:{reader}", str(READER)], check=True, capture_output=True)
    options = ["-debug", "-unsafe", "-target:library", "-langversion:latest", "-d:NET_4_0,NET_4_5"]
    command = ["mcs", *options, "-r:System.Core", f"-out:{library}", f"-recurse:{root}/*.cs"]
    subprocess.run(command, check=True, capture_output=True)
    output = subprocess.run(
        ["mono", str(reader), str(library)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"MONO_PATH": CECIL},
    ).stdout
    assembly = Assembly()
    for text in output.splitlines():
        kind, *fields = text.split("\t")
        if kind == "method":
            number, owner, name, path, line = fields
            assembly.methods[int(number)] = Method(owner, name, path, int(line))
        else:
            path, line, owner, name, number = fields
            assembly.calls.append((path, int(line), owner, name, int(number)))
    return assembly


class Sources:
    """The text of a folder, for what has no statements."""

    def __init__(self, root: Path) -> None:
        self._texts = {str(path): path.read_text("utf-8-sig") for path in sorted(root.rglob("*.cs"))}
        self.declaration = cache(self._declaration)

    def type_at(self, owner: str) -> tuple[str, int] | None:
        """Return the path and the place of the only type of a name; None where there are more or none."""
        pattern = rf"\b(?:class|struct|interface|delegate)\s+{re.escape(owner.rpartition('.')[2])}\b"
        matches = [(path, m.end()) for path, text in self._texts.items() for m in re.finditer(pattern, text)]
        return matches[0] if len(matches) == 1 else None

    def _declaration(self, owner: str, name: str) -> tuple[str, int] | None:
        """Return the path and the line of a type (`.ctor`), or of its only method of a name without a body."""
        place = self.type_at(owner)
        if place is None:
            return None
        path, at = place
        text = self._texts[path]
        if name != ".ctor":
            declared = rf"\b{re.escape(name)}\s*(?:<[^()]*>)?\s*\([^;{{}}]*\)[^;{{}}()]*(?:\([^()]*\))?\s*;"
            matches = list(re.finditer(declared, text[at : self._end(text, at)]))
            if len(matches) != 1:
                return None
            at += matches[0].start()
        return path, text.count("\n", 0, at) + 1

    def _end(self, text: str, at: int) -> int:
        """Return where the body of a type ends."""
        depth = 0
        for match in re.finditer(r"[{}]", text[at:]):
            depth += 1 if match[0] == "{" else -1
            if not depth:
                return at + match.end()
        return len(text)


def main() -> None:
    """Print what the names of a folder mean."""
    root = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        assembly = compiled(root, Path(work))
    sources = Sources(root)
    for path, line, owner, name, number in assembly.calls:
        word = owner.rpartition(".")[2] if name == ".ctor" else name
        here = Path(path).relative_to(root).as_posix()
        target, at = None, 0
        if number:
            method = assembly.methods[number]
            has_place = bool(method.path) and name != ".ctor"
            place = (method.path, method.line) if has_place else sources.declaration(owner, name)
            if place is None:
                continue
            target, at = Path(place[0]).relative_to(root).as_posix(), place[1]
        print(json.dumps([here, line, word, target, at]))


if __name__ == "__main__":
    main()
