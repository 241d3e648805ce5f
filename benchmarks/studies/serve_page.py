"""How soon the page shows the first result after Enter, in Chromium on loopback.

python -m benchmarks.studies.serve_page [--passages 100000] [--queries 40] [--index FOLDER] [-- OPTIONS OF SERVE]

Needs what `make browser` installs. The server is started again and queried as soon as it is ready; its first query
is counted separately. Time runs from the key press to the frame that shows the first result.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.passages import passages, queries
from benchmarks.serve_load import built

SHOWN = """
addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  const before = document.querySelector('.hit');
  window.pressed = performance.now();
  window.shown = null;
  new MutationObserver((_, observer) => {
    const hit = document.querySelector('.hit');
    if (!hit || hit === before) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.shown = performance.now() - window.pressed; }));
  }).observe(document, {childList: true, subtree: true});
}, true);
"""
"""Notes the time from the press of Enter until a frame with a new result was drawn."""

BYTES = """
() => performance.getEntriesByType('resource').filter(e => e.initiatorType === 'xmlhttprequest').at(-1)
  .responseStart - window.pressed
"""
"""The time from the press of Enter to the first byte of the results."""


def wait_until_ready(url: str) -> float:
    """Seconds until the server says that it is ready."""
    started = time.perf_counter()
    while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
        time.sleep(0.02)
    return time.perf_counter() - started


def ask(page: Any, query: str) -> tuple[float, float]:
    """Milliseconds from Enter to the first result and to the first byte of the answer."""
    page.fill("#q", query)
    page.keyboard.press("Enter")
    while not page.evaluate("window.shown"):
        time.sleep(0.005)
    seconds, first_byte = page.evaluate("window.shown"), page.evaluate(BYTES)
    page.wait_for_selector("#answer.writing", state="detached")
    return seconds, first_byte


def measure(url: str, texts: list[str]) -> list[tuple[float, float]]:
    """Ask a server by its page."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_page()
        page.add_init_script(SHOWN)
        page.goto(url)
        times = [ask(page, query) for query in texts]
        browser.close()
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--index", type=Path, help="an index that is there, of as many passages")
    parser.add_argument("serve", nargs="*", help="further options of sleuth serve, after --")
    arguments = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    index = arguments.index or built(Path(folder.name) / "index", arguments.passages)
    texts = queries(passages(arguments.passages), arguments.queries)
    command = [sys.executable, "-m", "sleuth", "serve", "--index", str(index), "--port", "0", "--quiet"]
    server = subprocess.Popen([*command, *arguments.serve], stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        url = server.stderr.readline().split()[-1]
        print(f"ready {wait_until_ready(url):.2f} s after the address was told", flush=True)
        first, *rest = measure(url, texts)
    finally:
        server.terminate()
        server.wait(60)
    print(f"first query: {first[0]:.0f} ms to the first result, {first[1]:.0f} ms to the first byte")
    for name, column in (("first result", 0), ("first byte", 1)):
        times = sorted(row[column] for row in rest)
        print(f"{name}: p50 {statistics.median(times):.0f} ms, p90 {times[int(len(times) * 0.9)]:.0f} ms")
    folder.cleanup()


if __name__ == "__main__":
    main()
