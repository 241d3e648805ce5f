"""One of several processes that use an index for long: `python -m tests.faults.soak INDEX NAME SECONDS ROUNDS`.

Each owns documents of its own, so that it knows every answer about them. A line of JSON a round says what it holds.
"""

import json
import random
import sys
import time
from pathlib import Path

from sleuth import Document, Engine
from tests.dense.strategies import HashEmbedder

OWNED = 150
"""Documents that a process owns at most."""
STEPS = 12
"""Writes of a round, each with a query."""
WORDS = [f"w{i}" for i in range(60)]
PATIENCE = 120.0


class Owner:
    """A process's documents in the index, and what they must be."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rng = random.Random(name)
        self.texts: dict[str, str] = {}
        self.added = 0

    def write(self, engine: Engine) -> None:
        """Add, replace or delete some documents."""
        if len(self.texts) > OWNED or (self.texts and self.rng.random() < 0.3):
            deleted_ids = self.rng.sample(sorted(self.texts), min(len(self.texts), self.rng.randint(1, 40)))
            assert sorted(engine.delete(deleted_ids, timeout=PATIENCE)) == sorted(deleted_ids)
            for id in deleted_ids:
                del self.texts[id]
            return
        texts = {id: self._text() for id in self.rng.sample(sorted(self.texts), min(3, len(self.texts)))}
        for _ in range(self.rng.randint(1, 30)):
            self.added += 1
            texts[f"{self.name}-{self.added}"] = self._text()
        documents = [Document(text, {"owner": self.name}, id=id) for id, text in texts.items()]
        engine.add(documents, timeout=PATIENCE)
        self.texts.update(texts)

    def _text(self) -> str:
        return " ".join(self.rng.choices(WORDS, k=self.rng.randint(3, 60)))

    def ask(self, engine: Engine) -> None:
        """Ask for a word: exactly the owned documents that hold it answer, with their texts."""
        word = self.rng.choice(WORDS)
        ranking = engine.retrieve(word, 10 * OWNED, legs=["lexical"], filter=f"owner:{self.name}")
        expected = {id: text for id, text in self.texts.items() if word in text.split()}
        answers = {item.metadata["source"]: item.text for item in ranking}
        assert answers == expected, f"{word}: {answers.items() ^ expected.items()}"
        engine.retrieve(f"{word} {self.rng.choice(WORDS)}", 5)


def held(path: Path) -> dict[str, int]:
    """Return the memory and files that this process holds, and the disk that the index takes, in bytes."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    disk = 0
    for file in path.rglob("*"):
        try:
            disk += file.stat().st_size
        except FileNotFoundError:  # a merge of another process has removed it
            continue
    return {
        "memory": int(status["VmRSS"].split()[0]) << 10,
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "disk": disk,
    }


def main(path: Path, name: str, seconds: float, rounds: int) -> None:
    """Write and ask until so many seconds are over and so many rounds are done; each round reopens the index."""
    owner, end, count = Owner(name), time.monotonic() + seconds, 0
    while count < rounds or time.monotonic() < end:
        with Engine.open(path, embedder=HashEmbedder()) as engine:
            assert not engine.repairs, engine.repairs
            for _ in range(STEPS):
                owner.write(engine)
                owner.ask(engine)
            count += 1
            print(json.dumps(held(path)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
