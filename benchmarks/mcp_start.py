"""From the start of `sleuth mcp` to its answer to `initialize`, beside an empty server of the official SDK; memory.

python -m benchmarks.mcp_start [--runs 9] [--root FOLDER]
python -m benchmarks.mcp_start [--runs 9] --first REPOSITORY
python -m benchmarks.mcp_start --questions FOLDER

The servers are started in turns, as a client starts them: a process, spoken to over its pipes. CPU time is that of the
process until it has answered, and is steadier than wall time where other programs run. Memory is what the process alone
holds (USS) when it has answered, and for Sleuth also after one search.

With `--first`, the call is the first one in a copy of a repository that is not indexed: from the call to its answer,
and from the start of the process. CPU time is that of the server and its processes from the call to the answer. With
`--questions`, how many answers have the text that is asked for, within so many tokens.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path
from typing import Any

from benchmarks.processes import cpu_seconds, own_megabytes
from sleuth import Engine, index_path, open_code
from sleuth.engine import Workspace
from sleuth.surfaces.mcp import Tools

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "tests/surfaces/mcp/questions.toml"

LOW_LEVEL = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def main():
    server = Server("empty", version="1")
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

anyio.run(main)
"""

HIGH_LEVEL = """
from mcp.server import MCPServer
MCPServer("empty").run("stdio")
"""


@dataclass
class Figures:
    """What the starts of one server took.

    Attributes:
        wall, cpu: seconds until the answer to `initialize`.
        memory: MB of the process alone, then.
        later: the same after one search; empty without a search.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)


def exchange(process: subprocess.Popen[bytes], method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request over the pipes and read its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def start(command: list[str], folder: Path, figures: Figures, *, search: bool) -> None:
    """Start a server, shake hands, and note what it took."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        client = {"name": "benchmark", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        answer = exchange(process, "initialize", hello)
        figures.wall.append(time.perf_counter() - began)
        figures.cpu.append(cpu_seconds(process.pid))
        figures.memory.append(own_megabytes(process.pid))
        assert "serverInfo" in answer["result"], answer
        if search:
            assert process.stdin is not None
            process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            response = exchange(process, "tools/call", {"name": "search", "arguments": {"query": "errors"}})
            assert not response["result"].get("isError"), response
            figures.later.append(own_megabytes(process.pid))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


def first_answer(root: Path, figures: Figures) -> str:
    """Start a server in a copy of a repository without an index, and ask; return what the answer says is indexed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "repository"
        shutil.copytree(root, folder, symlinks=True, ignore=shutil.ignore_patterns(".git", ".sleuth"))
        git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
            subprocess.run([*git, *command], check=True)
        command = [sys.executable, "-m", "sleuth", "mcp"]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            began = time.perf_counter()
            client = {"name": "benchmark", "version": "1"}
            exchange(
                process,
                "initialize",
                {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
            )
            assert process.stdin is not None
            process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            called, cpu_before = time.perf_counter(), cpu_seconds(process.pid)
            question = {"query": "where are requests retried"}
            response = exchange(process, "tools/call", {"name": "search", "arguments": question})
            figures.wall.append(time.perf_counter() - called)
            figures.later.append(time.perf_counter() - began)
            figures.cpu.append(cpu_seconds(process.pid) - cpu_before)
            assert not response["result"].get("isError"), response
            coverage = re.search(r'"indexing":\s*"([^"]*)"', response["result"]["content"][0]["text"])
            return coverage[1] if coverage is not None else ""
        finally:
            process.kill()
            process.communicate()


def print_first_answers(root: Path, runs: int) -> None:
    """Measure and print the first answers."""
    figures = Figures()
    notes = [first_answer(root, figures) for _ in range(runs)]
    print("| | from the call | from the start | CPU time |\n|---|---|---|---|")
    for label, choose in (("median", statistics.median), ("most", max)):
        columns = (figures.wall, figures.later, figures.cpu)
        print(f"| {label} | {' | '.join(f'{choose(column):.2f} s' for column in columns)} |")
    print(f"the last answer says: {notes[-1]!r}")


def indexed(folder: Path, root: Path) -> Path:
    """The documents and the code of a folder, indexed in another one that only holds the index."""
    with Engine.open(folder / ".sleuth", create=True) as engine:
        engine.index([root])
    with open_code(folder / ".sleuth", create=True) as storage:
        index_path(storage, root, workers=1)
    return folder


def print_given_answers(checkouts: Path) -> None:
    """Ask the questions over checkouts, and print how many answers are given of each five, by size."""
    repositories = tomllib.loads(QUESTIONS.read_text("utf-8"))
    print("| repository | 1,000 tokens | 1,500 tokens | 4,000 tokens |\n|---|---|---|---|")
    for name, repository in repositories.items():
        root, counts = checkouts / name, Counter[int]()
        with Workspace(indexed(root, root) / ".sleuth", root) as workspace:
            for most, (query, text) in product((1_000, 1_500, 4_000), repository["questions"]):
                answer = json.loads(Tools(workspace).call("search", {"query": query, "max_tokens": most}))
                texts = [[each.get("text", ""), *each.get("more", ())] for each in answer["results"]]
                words = " ".join(" ".join(chain.from_iterable(texts)).split())
                counts[most] += " ".join(text.split()) in words
        print(f"| {name} | {' | '.join(map(str, counts.values()))} |")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--root", type=Path, default=ROOT / "src" / "sleuth" / "surfaces")
    parser.add_argument("--first", type=Path, metavar="REPOSITORY")
    parser.add_argument(
        "--questions", type=Path, metavar="FOLDER", help="checkouts of the repositories by name"
    )
    arguments = parser.parse_args()
    if arguments.questions:
        print_given_answers(arguments.questions)
        return
    if arguments.first:
        print_first_answers(arguments.first, arguments.runs)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = indexed(Path(name), arguments.root)
        commands = {
            "empty server, low level": [sys.executable, "-c", LOW_LEVEL],
            "empty server, `MCPServer`": [sys.executable, "-c", HIGH_LEVEL],
            "`sleuth mcp`": [sys.executable, "-m", "sleuth", "mcp", "--index", str(folder / ".sleuth")],
        }
        results = {label: Figures() for label in commands}
        for command in commands.values():  # byte code and the cache of files
            start(command, folder, Figures(), search=False)
        for _ in range(arguments.runs):
            for label, command in commands.items():
                start(command, folder, results[label], search="sleuth" in label)
    base = results["empty server, low level"]
    print("| | wall, p50 | CPU, p50 | times the first's CPU | memory | after a search |")
    print("|---|---|---|---|---|---|")
    for label, figures in results.items():
        wall, cpu = statistics.median(figures.wall), statistics.median(figures.cpu)
        ratio = cpu / statistics.median(base.cpu)
        later = f"{statistics.median(figures.later):.0f} MB" if figures.later else ""
        memory = statistics.median(figures.memory)
        print(f"| {label} | {wall:.2f} s | {cpu:.2f} s | {ratio:.2f} | {memory:.0f} MB | {later} |")


if __name__ == "__main__":
    main()
