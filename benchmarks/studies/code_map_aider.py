"""Draws aider's repository map for `benchmarks.studies.code_map`, in the environment that aider is installed in.

Each line of the standard input is a request in JSON: `root`, `files` (relative paths), `text` of the issue, `budgets`.
Each line of the output is a map for each budget. Files and identifiers that the text mentions steer the map, found as
aider finds them in a message.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Any


class Messages:
    """What aider reads files with and writes messages to."""

    def read_text(self, path: str) -> str:
        """Return the text of a file."""
        return Path(path).read_text("utf-8", "replace")

    def tool_output(self, *texts: str) -> None:
        """Leave out what aider tells its user."""

    tool_warning = tool_error = tool_output


class Counter:
    """Counts tokens as the other systems of the benchmark do."""

    def token_count(self, text: str) -> int:
        """Return a quarter of the characters."""
        return (len(text) + 3) // 4


def mentioned_files(text: str, files: list[str]) -> set[str]:
    """Return the files whose path, unique file name or stem a text mentions."""
    words = {word.rstrip(",.!;:?").strip("\"'`*_") for word in text.split()}
    names: dict[str, list[str]] = defaultdict(list)
    stems: dict[str, list[str]] = defaultdict(list)
    for file in files:
        path = PurePosixPath(file)
        stems[path.stem.lower()].append(file)
        if re.search(r"[._-]", path.name):
            names[path.name].append(file)
    matches = {file for file in files if file in words}
    matches |= {same[0] for name, same in names.items() if len(same) == 1 and name in words}
    for word in re.split(r"\W+", text):
        if len(word) >= 5:
            matches |= set(stems.get(word.lower(), ()))
    return matches


def maps(request: dict[str, Any]) -> list[str]:
    """Return the map of a request for each of its budgets."""
    from aider.repomap import RepoMap

    root, files = request["root"], request["files"]
    drawer = RepoMap(root=root, main_model=Counter(), io=Messages())
    paths = [str(Path(root) / file) for file in files]
    mentions = mentioned_files(request["text"], files), set(re.split(r"\W+", request["text"]))
    ranking = drawer.get_ranked_tags([], paths, *mentions)
    drawer.get_ranked_tags = lambda *_, **__: ranking
    return [
        drawer.get_ranked_tags_map([], paths, budget, *mentions, force_refresh=True) or ""
        for budget in request["budgets"]
    ]


if __name__ == "__main__":
    for line in sys.stdin:
        answer = json.dumps(maps(json.loads(line)))
        print(answer, flush=True)
