"""Does `ask` claim disagreements among real pages, where nobody planted any?

    python -m benchmarks.disagreements [--pages 7200]

Indexes manual pages and documentation of the packages that this machine has (/usr/share/man, /usr/share/doc; nothing is
fetched), and asks the questions of `data/answer_questions.json`. Each disagreement is printed: a reader must judge
whether it is a real one. How many planted ones are found is a test (`tests/answer/test_agreement.py`).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.answer_sources import QUESTIONS
from sleuth import Engine
from sleuth.answer.extractive import DISAGREEMENT

ROOTS: Final = ("man/man5", "man/man7", "man/man8", "doc", "man/man3", "man/man1")
"""Below /usr/share."""
LEAST, MOST = 600, 60_000
"""Bytes of a page as it is stored: shorter ones are links to other pages."""


def pages(count: int) -> list[Path]:
    """Return files of the first folders that hold so many."""
    paths = (path for root in ROOTS for path in sorted(Path("/usr/share", root).rglob("*")))
    files = (path for path in paths if path.is_file() and not path.is_symlink())
    texts = (path for path in files if not path.name.startswith(("changelog", "copyright", "NEWS")))
    return list(islice((path for path in texts if LEAST <= path.stat().st_size <= MOST), count))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=7200, metavar="N")
    count = parser.parse_args().pages
    questions = [row["question"] for rows in json.loads(QUESTIONS.read_text("utf8")).values() for row in rows]
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True) as engine:
        engine.index(pages(count))
        claims = 0
        for question in questions:
            result = engine.search(question)
            if result.extra.get("disagreement"):
                claims += 1
                print(question, result.response[result.response.index(DISAGREEMENT) :], sep="\n", flush=True)
        documents = engine.count().documents
    print(f"{documents} pages, {len(questions)} questions, {claims} disagreements claimed")


if __name__ == "__main__":
    main()
