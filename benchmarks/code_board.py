"""The public benchmark of semble: questions about repositories, with the files that answer them; Sleuth beside others.

python -m benchmarks.code_board --semble FOLDER --sources FOLDER [--only zod serde] [--misses]

`--semble` is the folder `benchmarks` of semble's repository: `annotations/NAME.json` and `repos.json`. `--sources` has
a folder for each repository, with the commit that `repos.json` names checked out; missing ones are listed. The rule
is semble's: NDCG@10, where a place counts by the first result that covers it, and each place that is there is expected.

Tokens are what an agent reads until it has seen a place: the results in order, and the whole file where none of ten
shows it. `rg` gives whole files, by the number of lines with a word of the question. BM25 ranks pieces of 50 lines.
Needs `pip install bm25s semble model2vec`; the model of semble is a download, so it gets the vectors of Sleuth.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.code_peers import static_model
from benchmarks.processes import cpu_seconds as cpu_of
from sleuth import CodeRetriever, index_path, open_code
from sleuth.engine.codebase import default_embedder

MOST = 10
WINDOW = 50
WORD = re.compile(r"[A-Za-z_]\w+")
CHARACTERS = 4
"""Of a token."""


class Place(NamedTuple):
    """A file, or lines of it, that answers a question."""

    path: str
    first: int = 1
    last: int = 1 << 31


class Result(NamedTuple):
    """Lines of a file that a system shows; `size` is in characters."""

    path: str
    first: int
    last: int
    size: int


@dataclass(frozen=True)
class Question:
    """A question with the places that answer it."""

    text: str
    places: tuple[Place, ...]


Search = Callable[[str], Sequence[Result]]
System = Callable[[Path, Path, ExitStack], Search]
"""Indexes the first folder, may write into the second, and returns how to search."""


def questions_of(path: Path, root: Path, inside: str) -> list[Question]:
    """Return the questions of a repository; places that are not below `root` are left out."""
    questions = []
    for item in json.loads(path.read_text("utf8")):
        places = []
        for target in (*item["relevant"], *item.get("secondary", ())):
            place = Place(target) if isinstance(target, str) else Place(*target.values())
            name = place.path.removeprefix(f"{inside}/") if inside else place.path
            if (root / name).is_file():
                places.append(place._replace(path=name))
        questions.append(Question(item["query"], tuple(places)))
    return questions


def ndcg(question: Question, results: Sequence[Result]) -> float:
    """Return NDCG@10 of the ranks at which places are first covered."""
    ranks = {rank for place in question.places if (rank := rank_of(place, results)) is not None}
    ideal = sum(1 / math.log2(i + 2) for i in range(min(MOST, len(question.places))))
    return sum(1 / math.log2(rank + 2) for rank in ranks) / ideal if ideal else 0.0


def rank_of(place: Place, results: Sequence[Result]) -> int | None:
    """Return the rank of the first result that covers a place, from 0."""
    for rank, result in enumerate(results):
        if result.path == place.path and result.first <= place.last and place.first <= result.last:
            return rank
    return None


def tokens_until(question: Question, results: Sequence[Result], root: Path) -> float:
    """Return how much is read until a place is seen."""
    ranks = [rank for place in question.places if (rank := rank_of(place, results)) is not None]
    characters = sum(result.size for result in results[: min(ranks) + 1 if ranks else MOST])
    if not ranks and question.places:
        characters += (root / question.places[0].path).stat().st_size
    return characters / CHARACTERS


def sleuth(**options: Any) -> System:
    """Code search of Sleuth."""

    def begin(root: Path, work: Path, stack: ExitStack) -> Search:
        storage = stack.enter_context(open_code(work / "index", create=True))
        report = index_path(storage, root)
        retriever = CodeRetriever(storage, default_embedder())

        def search(text: str) -> list[Result]:
            hits = retriever.retrieve(text, report.repository, limit=MOST, explain=False, **options)
            return [Result(hit.file_path, hit.start_line, hit.end_line, len(hit.content)) for hit in hits]

        return search

    return begin


def cpu_seconds() -> float:
    """CPU time of this process and of those that it started, whether they have ended or not."""
    return cpu_of(os.getpid()) + sum(os.times()[2:4])


def files_of(root: Path) -> dict[str, str]:
    """Texts by path."""
    texts = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and ".git" not in path.parts and path.stat().st_size < 1_000_000:
            try:
                texts[path.relative_to(root).as_posix()] = path.read_text("utf8")
            except UnicodeDecodeError:
                continue
    return texts


def bm25(root: Path, work: Path, stack: ExitStack) -> Search:
    """BM25 over pieces of 50 lines."""
    import bm25s

    pieces, texts = [], []
    for path, text in files_of(root).items():
        lines = text.splitlines(keepends=True)
        for start in range(0, len(lines), WINDOW):
            texts.append("".join(lines[start : start + WINDOW]))
            pieces.append(Result(path, start + 1, start + WINDOW, len(texts[-1])))
    model = bm25s.BM25()
    model.index([WORD.findall(text.lower()) for text in texts], show_progress=False)

    def search(text: str) -> list[Result]:
        words = [WORD.findall(text.lower())]
        ranking = model.retrieve(words, k=min(MOST, len(pieces)), show_progress=False)
        return [pieces[i] for i in ranking.documents[0]]

    return search


def ripgrep(root: Path, work: Path, stack: ExitStack) -> Search:
    """Files by how many of their lines have a word of the question."""

    def search(text: str) -> list[Result]:
        words = [option for word in WORD.findall(text) for option in ("-e", word)]
        command = ["rg", "--count", "--ignore-case", "--fixed-strings", "--word-regexp", *words, "."]
        lines = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False
        ).stdout.splitlines()
        counts = [
            (int(line.rpartition(":")[2]), line.rpartition(":")[0].removeprefix("./")) for line in lines
        ]
        paths = [path for _, path in sorted(counts, key=lambda each: (-each[0], each[1]))[:MOST]]
        return [Result(path, 1, 1 << 31, (root / path).stat().st_size) for path in paths]

    return search


def semble(root: Path, work: Path, stack: ExitStack) -> Search:
    """Search of semble, with the vectors of Sleuth's embedder."""
    from semble import SembleIndex

    index: Any = SembleIndex.from_path(root, model_path=static_model(work.parent))

    def search(text: str) -> list[Result]:
        chunks = [hit.chunk for hit in index.search(text, top_k=MOST)]
        return [Result(c.file_path, c.start_line, c.end_line, len(c.content)) for c in chunks]

    return search


SYSTEMS: dict[str, System] = {
    "Sleuth": sleuth(),
    "Sleuth, by file": sleuth(per_file=1),
    "Sleuth, words": sleuth(strategy="keyword"),
    "semble": semble,
    "BM25": bm25,
    "rg": ripgrep,
}


class Score(NamedTuple):
    """What a system does on a repository: NDCG@10, tokens, seconds to index and milliseconds of a query, CPU time."""

    ndcg: float
    tokens: float
    build: float
    latency: float


def measure(system: System, root: Path, work: Path, questions: Sequence[Question], misses: str) -> Score:
    """Index a repository and ask its questions; `misses` is printed with those whose first result is no place."""
    values, tokens, times = [], [], []
    with tempfile.TemporaryDirectory(dir=work) as folder, ExitStack() as stack:
        began = cpu_seconds()
        search = system(root, Path(folder), stack)
        index = cpu_seconds() - began
        for question in questions:
            began = cpu_seconds()
            results = search(question.text)
            times.append(cpu_seconds() - began)
            values.append(ndcg(question, results))
            tokens.append(tokens_until(question, results, root))
            if misses and values[-1] < 1:
                paths = ", ".join(f"{result.path}:{result.first}" for result in results[:3])
                print(f"{misses} {values[-1]:.2f} {question.text!r}: {paths}")
    return Score(statistics.mean(values), statistics.mean(tokens), index, 1000 * statistics.median(times))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--semble", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of repositories")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument(
        "--misses", action="store_true", help="print the questions that are not answered first"
    )
    options = parser.parse_args()
    scores: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
    missing = []
    print(f"| repository | language | questions | {' | '.join(options.systems)} |")
    print("|---" * (len(options.systems) + 3) + "|", flush=True)
    with tempfile.TemporaryDirectory() as work:
        for spec in json.loads((options.semble / "repos.json").read_text("utf8")):
            name, inside = spec["name"], spec.get("benchmark_root") or ""
            annotations, root = (
                options.semble / "annotations" / f"{name}.json",
                options.sources / name / inside,
            )
            if options.only and name not in options.only:
                continue
            if not annotations.is_file() or not root.is_dir():
                missing.append(name)
                continue
            questions = questions_of(annotations, root, inside)
            row = []
            for system in options.systems:
                score = measure(
                    SYSTEMS[system],
                    root,
                    Path(work),
                    questions,
                    f"{name}, {system}:" if options.misses else "",
                )
                scores[system][spec["language"]].append(score)
                row.append(f"{score.ndcg:.3f}")
            print(f"| {name} | {spec['language']} | {len(questions)} | {' | '.join(row)} |", flush=True)
    print(
        "\n| system | NDCG@10 | tokens until an answer | index, CPU s | query, CPU ms |\n|---|---|---|---|---|"
    )
    for system, by_language in scores.items():
        every = [score for group in by_language.values() for score in group]
        means = Score(*(statistics.mean(column) for column in zip(*every, strict=True)))
        print(
            f"| {system} | {means.ndcg:.3f} | {means.tokens:.0f} | {means.build:.2f} | {means.latency:.1f} |"
        )
    print(f"\nmissing: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()
