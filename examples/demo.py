"""Index Python's language reference and library, then search text, search code and get a cited answer.

Both come with every Python. The files are written to a folder of their own, which the last lines name.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

LARGEST_MODULE = 90_000
"""Bytes: the few larger modules would take a third of the time."""
PACKAGES = ("collections", "concurrent", "http", "json", "urllib")
TEXT_QUESTION = "which objects are considered false"
CODE_QUESTIONS = (
    "remove common leading whitespace from every line",
    "find close matches for a misspelled word",
)
ASK_QUESTION = "when are default parameter values evaluated"


def write_corpus(folder: Path) -> None:
    """Write the topics of `help()` as text files and copy part of the standard library."""
    from pydoc_data.topics import topics

    (folder / "reference").mkdir(parents=True)
    for name, text in topics.items():
        (folder / "reference" / f"{name}.rst").write_text(text, "utf8")
    library = Path(sysconfig.get_path("stdlib"))
    (folder / "library").mkdir()
    for module in library.glob("*.py"):
        if module.stat().st_size <= LARGEST_MODULE:
            shutil.copy(module, folder / "library")
    for package in PACKAGES:
        shutil.copytree(
            library / package, folder / "library" / package, ignore=shutil.ignore_patterns("__pycache__")
        )


def run(*arguments: str) -> None:
    """Print a command as one would type it, then run it."""
    print(f"\n$ {shlex.join(('sleuth', *arguments))}", flush=True)
    code = subprocess.run([sys.executable, "-m", "sleuth", *arguments], check=False).returncode
    if code:
        sys.exit(code)


def main() -> None:
    """Index, search, ask."""
    folder = Path(os.environ.get("SLEUTH_DEMO", Path(tempfile.gettempdir()) / "sleuth-demo"))
    shutil.rmtree(folder, ignore_errors=True)
    write_corpus(folder)
    os.chdir(folder)
    os.environ["SLEUTH_INDEX"] = str(folder / ".sleuth")
    print(f"\nPython's language reference (as text) and library (as code) are now in {folder}.")
    run("index", "reference")
    run("search", "-k", "1", TEXT_QUESTION)
    run("code", "index", "library")
    for question in CODE_QUESTIONS:
        run("code", "search", "-k", "1", question)
    run("ask", ASK_QUESTION)
    command = Path(sys.executable).with_name("sleuth")
    print(
        f"""
Next, with your own files:
  alias sleuth={shlex.quote(str(command))}
  cd ~/some/folder
  sleuth index .                  # text, Markdown, HTML, CSV, JSON ...; run it again after changes
  sleuth search "your question"
  sleuth ask "your question"      # a language model writes the answer if you name one: docs/how-to/ask-with-a-model.md
  sleuth code index .             # a repository
  sleuth --help"""
    )


if __name__ == "__main__":
    main()
