"""Does the default find the right page of a manual, and what do weights of title and heading change?

    python -m benchmarks.studies.manuals
    python -m benchmarks.studies.manuals --weights 1,1 2,2 --manuals git sqlite

Prints MRR@10 of pages for the questions of benchmarks/data/manual_questions.json, which were written before any of
them was searched. bm25s ranks title, heading and text of the same passages with English stems; words, meaning and the
default have each pair of weights. A second table has the same questions in German or French. Manuals come from packages
of Debian, which are downloaded once.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.packages import DATA, unpacked
from sleuth import Engine

QUESTIONS: Final = Path(__file__).parents[1] / "data" / "manual_questions.json"
K: Final = 10
POOL: Final = 100
LEFT_OUT: Final = ("genindex", "search", "_modules", "RelNotes")


class Manual(NamedTuple):
    """Where a manual is: the package of Debian and the folder in it."""

    package: str
    folder: str


MANUALS: Final = {
    "django": Manual("deb:python-django-doc", "usr/share/doc/python-django-doc/html"),
    "git": Manual("deb:git-doc", "usr/share/doc/git-doc"),
    "postgres": Manual("deb:postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    "sqlite": Manual("deb:sqlite3-doc", "usr/share/doc/sqlite3"),
}
Pages = Callable[[str], Sequence[str]]
"""Returns the pages for a question, best first."""


def pages_of(name: str) -> Path:
    """Return the folder with the pages of a manual; they are copied once."""
    folder = DATA / "manuals" / name
    if not folder.is_dir():
        source = unpacked(MANUALS[name].package) / MANUALS[name].folder
        for path in sorted(source.rglob("*.html")):
            place = path.relative_to(source)
            if not any(part.startswith(LEFT_OUT) for part in place.parts):
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / place)
    return folder


def opened(name: str, title: int, heading: int) -> Engine:
    """Return the index of a manual with these weights; it is made once."""
    home = DATA / "bench" / f"manuals-{title}-{heading}" / name
    engine = Engine.open(home, create=True, settings={"title_weight": title, "heading_weight": heading})
    if not engine.status()["documents"]:
        engine.index([pages_of(name)])
    return engine


def systems(engine: Engine) -> dict[str, Pages]:
    """Return what ranks the pages of an index, by name."""

    def ranked(legs: list[str] | None) -> Pages:
        return lambda question: [
            str(item.metadata["source"]) for item in engine.retrieve(question, POOL, legs=legs)
        ]

    return {
        "bm25s": by_bm25s(engine),
        "words": ranked(["lexical"]),
        "meaning": ranked(["dense"]),
        "default": ranked(None),
    }


def by_bm25s(engine: Engine) -> Pages:
    """Return the peer over the passages of an index: title, heading and text as one string."""
    import bm25s
    import Stemmer

    texts, pages = [], []
    with engine.store.reader() as snapshot:
        for document in snapshot.documents():
            for row in snapshot.chunks_of(document.id):
                texts.append(f"{document.title} {row.fields.get('heading', '')} {row.text}")
                pages.append(str(document.source))
    stemmer = Stemmer.Stemmer("english")

    def tokens(lines: list[str]) -> Any:
        return bm25s.tokenize(lines, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(tokens(texts), show_progress=False)

    def rank(question: str) -> Sequence[str]:
        rows, _ = index.retrieve(tokens([question]), k=min(2 * POOL, len(texts)), show_progress=False)
        return [pages[row] for row in rows.ravel().tolist()]

    return rank


def reciprocal_rank(ranking: Sequence[str], pages: Sequence[str]) -> float:
    """Return 1 / the rank of the first right page among the first ten pages, 0 without such a page."""
    for place, page in enumerate(list(dict.fromkeys(ranking))[:K]):
        stem = page.removesuffix(".html")
        if any(stem == right or stem.endswith(f"/{right}") for right in pages):
            return 1 / (place + 1)
    return 0.0


def mean_of(system: Pages, entries: Sequence[Mapping[str, Any]], key: str) -> float:
    """Return the mean reciprocal rank of a system over questions in a language."""
    return statistics.fmean(reciprocal_rank(system(entry[key]), entry["pages"]) for entry in entries)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--manuals", nargs="*", default=list(MANUALS), choices=list(MANUALS), metavar="NAME")
    parser.add_argument("--weights", nargs="*", default=["1,1"], metavar="TITLE,HEADING")
    options = parser.parse_args()
    questions = json.loads(QUESTIONS.read_text(encoding="utf8"))
    names = options.manuals
    english: dict[str, dict[str, float]] = {}
    foreign: dict[str, dict[str, float]] = {}
    for weights in options.weights:
        title, heading = map(int, weights.split(","))
        for name in names:
            entries = questions[name]
            language = next(key for key in entries[0] if key not in ("question", "pages"))
            with opened(name, title, heading) as engine:
                for system, rank in systems(engine).items():
                    row = system if system == "bm25s" else f"{system}, {weights}"
                    english.setdefault(row, {})[name] = mean_of(rank, entries, "question")
                    foreign.setdefault(row, {})[name] = mean_of(rank, entries, language)
    for caption, rows in (("questions in English", english), ("questions in German or French", foreign)):
        print(f"\n| {caption} | {' | '.join(names)} | mean |\n|{'---|' * (len(names) + 2)}")
        for row, means in rows.items():
            cells = " | ".join(f"{means[name]:.3f}" for name in names)
            print(f"| {row} | {cells} | {statistics.fmean(means.values()):.3f} |")


if __name__ == "__main__":
    main()
