"""Prints what each call and instantiation of a folder of Kotlin means, as its compiler sees it.

python kotlin_truth.py FOLDER: one JSON array a line: [file, line, name, file of the definition or null, its line].
Needs `kotlinc` and `javap`. The compiled classes name the method of each call and the line that it is for. Calls of
inline functions leave no trace there, so nothing is said of them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SOURCE = re.compile(r'Compiled from "(.+)"')
CLASS = re.compile(
    r"(?:[\w ]+ )?(?:class|interface) ([\w.$]+)(?:<.*>)?(?: extends ([\w.$, <>?]+?))?(?: implements (.+?))? \{$"
)
METHOD = re.compile(r"  \S.*[\s.]([\w$<>]+)\(.*\).*;$")
CALL = re.compile(
    r"\s+(\d+): invoke\w+\s.*// (?:Interface)?Method (?:([\w/$]+)\.)?\"?([\w$<>]+)\"?:(\([^)]*\)).*$"
)
DESCRIPTOR = re.compile(r"    descriptor: (\([^)]*\))")
LINE = re.compile(r"\s+line (\d+): (\d+)$")


class Call(NamedTuple):
    """A call of a method of a class, at a line; the descriptor has the types of its parameters."""

    line: int
    owner: str
    name: str
    descriptor: str


@dataclass
class Compiled:
    """A class: the path of its source, its bases, the first lines of its methods by name and parameters, its calls."""

    path: str = ""
    bases: list[str] = field(default_factory=list)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)


def sources(root: Path) -> dict[tuple[str, str], str]:
    """Return the paths of sources by package and name."""
    paths = {}
    for path in sorted(root.rglob("*.kt")):
        match = re.search(r"^package ([\w.]+)", path.read_text("utf8"), re.MULTILINE)
        paths[match[1] if match else "", path.name] = path.relative_to(root).as_posix()
    return paths


def compiled(root: Path, classes: Path) -> dict[str, Compiled]:
    """Return the classes of a folder by name."""
    paths, by_name = sources(root), {}
    files = [str(path) for path in sorted(classes.rglob("*.class"))]
    text = subprocess.run(
        ["javap", "-p", "-c", "-l", "-s", *files], check=True, capture_output=True, text=True
    ).stdout
    for part in text.split("Compiled from")[1:]:
        source, head, *rest = part.split("\n")
        match = CLASS.match(head)
        if match is None:
            continue
        package, name = match[1].rpartition(".")[0], match[1]
        bases = re.sub(r"<[^<>]*>", "", f"{match[2] or ''},{match[3] or ''}").replace(" ", "").split(",")
        one = by_name[name] = Compiled(paths.get((package, source.strip(' "')), ""), [b for b in bases if b])
        read_methods(one, name, rest)
    return by_name


def read_methods(one: Compiled, owner: str, lines: list[str]) -> None:
    """Read the methods of a class."""
    method = descriptor = ""
    calls: list[tuple[int, str, str, str]] = []
    table: list[tuple[int, int]] = []
    for text in [*lines, "  void end();"]:
        if match := METHOD.match(text):
            for at, call_owner, name, parameters in calls:
                before = [line for line, start in table if start <= at]
                if before:
                    one.calls.append(Call(before[-1], call_owner, name, parameters))
            if table:
                one.lines[method, descriptor] = min(line for line, _ in table)
            method, calls, table = match[1].rpartition(".")[2], [], []
        elif match := DESCRIPTOR.match(text):
            descriptor = match[1]
        elif match := CALL.match(text):
            calls.append((int(match[1]), (match[2] or owner).replace("/", "."), match[3], match[4]))
        elif match := LINE.match(text):
            table.append((int(match[1]), int(match[2])))


def without_defaults(owner: str, descriptor: str) -> list[str]:
    """Return what a method may take whose `$default` takes these: not the mask, and perhaps not the object before."""
    plain = re.sub(r"I+Ljava/lang/Object;\)$", ")", descriptor)
    masks = [re.sub(r"ILjava/lang/Object;\)$", ")", descriptor), plain]
    of_object = f"(L{owner.replace('.', '/')};"
    return [*masks, *(f"({each.removeprefix(of_object)}" for each in masks if each.startswith(of_object))]


def place(
    root: Path, by_name: dict[str, Compiled], owner: str, name: str, descriptor: str
) -> tuple[str, int] | None:
    """Return the path and the line of a method, also of a base; None where the source does not tell it."""
    one = by_name.get(owner)
    if one is None:
        return None
    text = (root / one.path).read_text("utf8") if one.path else ""
    plain = name.removesuffix("$default")
    descriptors = [descriptor] if plain == name else without_defaults(owner, descriptor)
    lines = [one.lines[plain, each] for each in descriptors if (plain, each) in one.lines]
    if name == "<init>":
        pattern = rf"\b(?:class|object)\s+{re.escape(re.split('[.$]', owner)[-1])}\b"
    elif lines and lines[0] <= text.count("\n") + 1:
        return one.path, lines[0]
    else:
        pattern = rf"\bfun\b[^\n({{=]*\b{re.escape(plain)}\s*\("
    matches = list(re.finditer(pattern, text))
    if len(matches) == 1:
        return one.path, text.count("\n", 0, matches[0].start()) + 1
    places = (place(root, by_name, base, name, descriptor) for base in one.bases)
    return next((each for each in places if each), None) if name != "<init>" else None


def main() -> None:
    """Print what the names of a folder mean."""
    root = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        command = ["kotlinc", "-nowarn", str(root), "-d", work]
        subprocess.run(command, check=True, capture_output=True)
        by_name = compiled(root, Path(work))
    sizes: dict[str, int] = defaultdict(int)
    for one in by_name.values():
        if one.path:
            sizes[one.path] = (root / one.path).read_text("utf8").count("\n") + 1
    for one in by_name.values():
        for line, owner, name, descriptor in one.calls:
            if not one.path or line > sizes[one.path]:  # inlined from elsewhere
                continue
            plain = name.removesuffix("$default")
            word = re.split("[.$]", owner)[-1] if plain == "<init>" else plain
            target = place(root, by_name, owner, name, descriptor)
            if target is None and owner in by_name:
                continue
            path, at = target or (None, 0)
            print(json.dumps([one.path, line, word, path, at]))


if __name__ == "__main__":
    main()
