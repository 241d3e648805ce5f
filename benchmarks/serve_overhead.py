"""What HTTP adds to a search, one client at a time, and how many searches a second are answered.

python -m benchmarks.serve_overhead [--passages 100000] [--queries 400] [--index FOLDER]

The same queries go to the bare engine and to the server, in turns of 50, so that both see the same machine. Throughput
is measured with `wrk` (Debian's package) where it is installed; it takes part of the machine's cores.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.passages import passages, queries
from benchmarks.serve_load import built
from sleuth import Engine

TURN = 50

SCRIPT = """
local lines = {{}}
for line in io.lines("{file}") do lines[#lines + 1] = line end
local i = 0
request = function()
  i = i % #lines + 1
  return wrk.format("POST", "/v1/search", {{["content-type"] = "application/json"}}, lines[i])
end
"""


def measure(
    engine: Engine, port: int, asked: list[str], options: dict[str, list[str]]
) -> tuple[list[float], list[float]]:
    """Seconds of each query: over HTTP, and of the bare engine."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    served, bare = [], []
    for first in range(0, len(asked), TURN):
        turn = asked[first : first + TURN]
        bodies = [json.dumps({"query": query, "k": 10, **options}) for query in turn]
        for body in bodies:
            started = time.perf_counter()
            connection.request("POST", "/v1/search", body, {"content-type": "application/json"})
            connection.getresponse().read()
            served.append(time.perf_counter() - started)
        for query in turn:
            started = time.perf_counter()
            engine.retrieve(query, 10, **options)  # type: ignore[arg-type]
            bare.append(time.perf_counter() - started)
    return served, bare


def throughput(port: int, asked: list[str], options: dict[str, list[str]], seconds: int) -> str:
    """What wrk says of 16 connections."""
    if not shutil.which("wrk"):
        return "wrk is not installed"
    with tempfile.TemporaryDirectory() as folder:
        lines, script = Path(folder, "lines"), Path(folder, "script.lua")
        lines.write_text("\n".join(json.dumps({"query": query, "k": 10, **options}) for query in asked))
        script.write_text(SCRIPT.format(file=lines))
        told = subprocess.run(
            [
                "wrk",
                "-t1",
                "-c16",
                f"-d{seconds}s",
                "--latency",
                "-s",
                str(script),
                f"http://127.0.0.1:{port}",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    wanted = ("50%", "99%", "Requests/sec", "Non-2xx")
    return "; ".join(" ".join(line.split()) for line in told.splitlines() if line.strip().startswith(wanted))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--index", type=Path)
    parser.add_argument("serve", nargs="*", help="further options of sleuth serve, after --")
    arguments = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    index = arguments.index or built(Path(folder.name) / "index", arguments.passages)
    asked = queries(passages(arguments.passages), arguments.queries)
    command = [
        sys.executable,
        "-m",
        "sleuth",
        "serve",
        "--index",
        str(index),
        "--port",
        "0",
        "--quiet",
        *arguments.serve,
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    port = int(server.stderr.readline().rpartition(":")[2])
    time.sleep(3)
    try:
        with Engine.open(index) as engine:
            choices: list[dict[str, list[str]]] = [{}, {"legs": ["lexical"]}]
            for options in choices:
                measure(engine, port, asked[:TURN], options)
                served, bare = measure(engine, port, asked, options)
                middle = [statistics.median(seconds) * 1e3 for seconds in (served, bare)]
                print(
                    options or "both legs",
                    f"p50: served {middle[0]:.2f} ms, engine {middle[1]:.2f} ms,",
                    end=" ",
                )
                print(f"overhead {middle[0] - middle[1]:.2f} ms", flush=True)
                print("  ", throughput(port, asked, options, arguments.seconds), flush=True)
    finally:
        server.terminate()
        server.wait(60)
    folder.cleanup()


if __name__ == "__main__":
    main()
