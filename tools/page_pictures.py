"""Takes the pictures of the web page over this repository's documents and code, light and dark."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import sync_playwright

HOME = Path(__file__).parents[1]
QUESTION = "how is a filter translated for a hosted system"
RELOADS = 30
SOON = 60
"""Milliseconds that a page takes at most on a quiet machine."""


def main() -> None:
    """Index copies, whose paths tell nothing of this machine; serve, ask and take both pictures."""
    with tempfile.TemporaryDirectory() as folder:
        sleuth = [sys.executable, "-m", "sleuth"]
        index = str(Path(folder, ".sleuth"))
        documents = shutil.copytree(
            HOME / "docs", Path(folder, "docs"), ignore=shutil.ignore_patterns("*.png")
        )
        code = shutil.copytree(HOME / "src" / "sleuth", Path(folder, "sleuth"))
        subprocess.run([*sleuth, "index", ".", "--index", index], cwd=documents, check=True)
        subprocess.run([*sleuth, "code", "index", str(code), "--index", index], check=True)
        serve = ["serve", "--index", index, "--in", "docs", "--in", "code", "--port", "0", "--quiet"]
        server = subprocess.Popen([*sleuth, *serve], stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            url = server.stderr.readline().split()[-1]
            while httpx.get(f"{url}/readyz").status_code != 200:
                time.sleep(0.1)
            take(url)
        finally:
            server.terminate()
            server.wait(60)


def take(url: str) -> None:
    """Take the picture of each colour scheme."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1280, "height": 1100}, color_scheme=scheme)
            page.goto(url)
            page.fill("#q", QUESTION)
            page.keyboard.press("Enter")
            page.wait_for_selector(".hit")
            for _ in range(RELOADS):  # until no other program is in the way
                page.wait_for_selector("#answer.writing", state="detached")
                if int(re.findall(r"(\d+) ms", page.inner_text("main"))[0]) < SOON:
                    break
                page.reload()
            page.wait_for_selector("#answer.writing", state="detached")
            page.screenshot(path=HOME / "docs" / "how-to" / f"page-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
