"""Does a definition's name find the definition?

python -m benchmarks.studies.code_names --work /tmp/names commit_django commit_rails PATH...

Definitions are sampled from each repository, as many from one as from another. The qualified name (`Model.save`) counts
where a definition of that name is in the first piece of code; the bare name (`save`), where only one definition has
it, within the first three.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

from benchmarks.code_collections import DATA, Given, beir
from sleuth.code import CodeRetriever, RetrievedContext, Snapshot, index_path
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

SEED = 7


@dataclass
class Counts:
    """What was asked and found.

    Attributes:
        qualified, bare: names that were asked.
        first, third: of those, how many found their definition in time.
    """

    qualified: int = 0
    first: int = 0
    bare: int = 0
    third: int = 0

    def row(self, name: str) -> str:
        """A line of the table."""
        return (
            f"| {name} | {self.qualified} | {self.first / max(1, self.qualified):.3f} "
            f"| {self.bare} | {self.third / max(1, self.bare):.3f} |"
        )

    def add(self, other: Counts) -> None:
        """Count another repository too."""
        self.qualified += other.qualified
        self.first += other.first
        self.bare += other.bare
        self.third += other.third


def measure(repository: str, work: Path, sample: int, misses: int) -> Counts:
    """Ask for sampled definitions of one repository.

    Args:
        repository: a collection in `.data`, or a path.
        misses: how many names that did not find their definition are printed.
    """
    with open_code(work / Path(repository).name, create=True) as storage:
        if "/" not in repository and (DATA / repository).is_dir():
            files, _ = beir(repository)
            report = index_source(storage, Given(Path("/collections") / repository, files))
        else:
            report = index_path(storage, repository)
        record = storage.repository(report.repository)
        snapshot = storage.open_snapshot(record, storage.snapshot(record))
        retriever = CodeRetriever(storage, None)
        counts = Counts()
        for path, line, name, qualified in sampled(snapshot, sample):

            def ask(query: str, limit: int) -> list[RetrievedContext]:
                return retriever.retrieve(query, record.id, limit=limit, strategy="keyword", explain=False)

            counts.qualified += 1
            places = {(d.file.path, d.symbol.line) for d in snapshot.definitions(qualified)}
            is_first = any(holds(hit, place) for hit in ask(qualified, 1) for place in places)
            counts.first += is_first
            if not is_first and misses > 0:
                misses -= 1
                print(f"missed: {qualified} at {path}:{line}")
            if len(snapshot.definitions(name)) == 1:
                counts.bare += 1
                counts.third += any(holds(hit, (path, line)) for hit in ask(name, 3))
        return counts


def sampled(snapshot: Snapshot, size: int) -> list[tuple[str, int, str, str]]:
    """Path, line, name and qualified name of some definitions, always the same."""
    chooser = random.Random(SEED)
    files = chooser.sample(snapshot.files, min(len(snapshot.files), 4 * size))
    definitions: list[tuple[str, int, str, str]] = []
    for file in files:
        if len(definitions) >= size:
            break
        symbols = snapshot.detail(file).symbols
        definitions += [
            (file.path, symbol.line, symbol.name, symbol.qualified)
            for symbol in chooser.sample(symbols, min(len(symbols), 2))
        ]
    return definitions[:size]


def holds(hit: RetrievedContext, place: tuple[str, int]) -> bool:
    """Whether a line of a file is in a hit."""
    path, line = place
    return hit.file_path == path and hit.start_line <= line <= hit.end_line


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--misses", type=int, default=0)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    total = Counts()
    print("| repository | qualified names | first | unique bare names | within 3 |\n|---|---|---|---|---|")
    for repository in options.repositories:
        counts = measure(
            repository, options.work, options.sample // len(options.repositories), options.misses
        )
        print(counts.row(Path(repository).name), flush=True)
        total.add(counts)
    print(total.row("all"))


if __name__ == "__main__":
    main()
