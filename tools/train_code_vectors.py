"""Train the vectors of code: one for each token of WordLlama's vocabulary (src/sleuth/dense/code.py reads them).

    python tools/train_code_vectors.py pairs PAIRS MIRROR ...       # what a bare mirror of a repository teaches
    python tools/train_code_vectors.py train PAIRS TABLE.npy        # needs PyTorch; seconds on a GPU
    python tools/train_code_vectors.py judge PAIRS TABLE.npy        # by the repositories that took no part

A pair is what people say of a definition and the definition: its docstring and its code without it, or the message of a
commit and a definition that the commit changed. The vector of a text is the mean of those of its tokens. Training makes
the cosine of a pair greater than that with other definitions of the same repository (InfoNCE: van den Oord et
al., 2018). `tools/code_vectors.txt` lists the repositories with their commits; those marked `held`
judge. The table is in docs/measured/code.md.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.detail import Symbol
from sleuth.code.parsing.grammars import has_grammar
from sleuth.code.parsing.languages import language_of
from sleuth.code.parsing.parse import parse_source
from sleuth.code.search.functions import outer_functions
from sleuth.dense import load_model
from sleuth.dense.code import readable

LIST = Path(__file__).with_name("code_vectors.txt")
DIMENSION, STEPS, RATE, TEMPERATURE, PAIRS, OTHERS, MESSAGES = 128, 1300, 0.004, 0.1, 1024, 6000, 0.4
"""Numbers of a vector, steps of Adam, its rate, what divides cosines, pairs and other definitions of a step, and the
share of steps with messages of commits. Chosen on the repositories that judge."""
COMMITS = 12_000
"""Commits of a repository that are read, newest first."""
MOST_FILES, MOST_DEFINITIONS = 6_000, 9_000
MOST_BYTES = 200_000
SKIPPED = re.compile(
    r"(^|/)(vendor|third_party|extern|node_modules|dist|_vendor|generated|fixtures?|testdata|deps|locale)/|\.min\.|\.pb\."
)
TEXTS = {
    "markdown",
    "json",
    "yaml",
    "toml",
    "css",
    "html",
    "restructuredtext",
    "sql",
    "graphql",
    "hcl",
    "xml",
}
TYPES = {"class", "interface", "struct", "trait", "enum"}
COMMENT = re.compile(r"^\s*(#|//|/?\*|--)")
DOCSTRING = re.compile(r'("""|' + r"''')(.*?)\1", re.S)
ROUTINE = re.compile(
    r"^(merge|bump|release|revert|version|v?\d+\.\d+|typo|black|lint|format|\[?pre-commit)", re.I
)
TRAILER = re.compile(
    r"^(signed-off-by|co-authored-by|change-id|reviewed-by|closes|fixes:? #|acked-by).*$", re.I | re.M
)
IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
DRIVERS = {
    "python": "py", "ruby": "rb", "java": "java scala", "golang": "go", "rust": "rs", "php": "php", "csharp": "cs",
    "kotlin": "kt", "cpp": "c cc cpp h", "elixir": "ex exs", "script": "ts tsx js",
}  # fmt: skip
"""What tells git which definition a changed line stands in, by the ending of the file."""
SCRIPT = (
    r"^[ \t]*((export[ \t]+)?(default[ \t]+)?(async[ \t]+)?function.*"
    r"|(export[ \t]+)?(const|let|var)[ \t]+[A-Za-z_$][A-Za-z0-9_$]*[ \t]*=.*"
    r"|(static |async |private |public |protected )*[A-Za-z_$][A-Za-z0-9_$]*[ \t]*\(.*\{)[ \t]*$"
)
Ids = NDArray[np.uint16]


class Texts(NamedTuple):
    """Token ids of texts, one after the other, and where each begins, with the end of the last."""

    ids: Ids
    starts: NDArray[np.int64]

    @classmethod
    def joined(cls, texts: Sequence[Ids]) -> Texts:
        """Join the ids of texts."""
        ids = np.concatenate([np.zeros(0, np.uint16), *texts])
        return cls(ids, np.cumsum([0, *map(len, texts)]))

    def chosen(
        self, places: NDArray[np.intp], most: Any = 1 << 30
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ids of some texts, and to which of them each belongs; the first `most` of each."""
        sizes = np.minimum(self.starts[places + 1] - self.starts[places], most)
        rows = np.repeat(np.arange(len(places)), sizes)
        at = (
            np.arange(len(rows))
            - np.repeat(np.cumsum(sizes) - sizes, sizes)
            + np.repeat(self.starts[places], sizes)
        )
        return self.ids[at].astype(np.int64), rows


class Lessons(NamedTuple):
    """What a repository teaches.

    Attributes:
        code: of each definition: its path, its qualified name and its code without its documentation.
        docs: of each definition, empty where it has none.
        messages: of commits.
        changed: the definitions that each commit changed, one after the other; `changed_starts` as of `Texts`.
    """

    code: Texts
    docs: Texts
    messages: Texts
    changed: NDArray[np.int32]
    changed_starts: NDArray[np.int64]

    def save(self, path: Path) -> None:
        """Write them to a file."""
        np.savez_compressed(path, *self.code, *self.docs, *self.messages, self.changed, self.changed_starts)

    @classmethod
    def load(cls, path: Path) -> Lessons:
        """Read what `save` wrote."""
        a = list(np.load(path).values())
        return cls(Texts(*a[0:2]), Texts(*a[2:4]), Texts(*a[4:6]), a[6], a[7])


class Definition(NamedTuple):
    """A definition and what is said of it."""

    path: str
    symbol: Symbol
    code: str
    doc: str


def git(mirror: Path, *arguments: str) -> bytes:
    """Return what a command of git prints."""
    return subprocess.run(["git", "-C", mirror, *arguments], check=True, capture_output=True).stdout


def ids_of(text: str, most: int) -> Ids:
    """Return the first ids of a text, as `CodeEmbedder` reads it."""
    return load_model().vocabulary.encode(readable(text))[:most].astype(np.uint16)


def definitions_of(mirror: Path) -> Iterator[Definition]:
    """Yield the functions and types of the newest commit; nested functions belong to the outermost."""
    listing = git(mirror, "ls-tree", "-r", "-z", "HEAD").decode("utf8", "replace").split("\0")[:-1]
    paths = []
    for entry in listing:
        (mode, _, blob), path = entry.partition("\t")[0].split(), entry.partition("\t")[2]
        language = language_of(path)
        if (
            language
            and has_grammar(language.name)
            and language.name not in TEXTS
            and not SKIPPED.search(path)
            and mode.startswith("100")
        ):
            paths.append((path, blob, language.name))
    if len(paths) > MOST_FILES:
        some = np.random.default_rng(0).choice(len(paths), MOST_FILES, replace=False)
        paths = [paths[at] for at in sorted(some.tolist())]
    for path, blob, name in paths:
        source = git(mirror, "cat-file", "blob", blob)
        if len(source) <= MOST_BYTES:
            yield from _definitions(path, source, name)


def _definitions(path: str, source: bytes, language: str) -> Iterator[Definition]:
    symbols = parse_source(source, language, path).symbols
    lines = source.decode("utf8", "replace").split("\n")
    types = {at for at, symbol in enumerate(symbols) if symbol.kind in TYPES}
    for at in sorted(set(outer_functions(symbols)) - {-1} | types):
        symbol = symbols[at]
        if symbol.end == symbol.start:
            continue
        most = 25 if at in types else 120
        before = symbol.line - symbol.start
        own = lines[symbol.start - 1 : symbol.end][:most]
        code = "\n".join(line for i, line in enumerate(own) if i >= before or not COMMENT.match(line))
        if symbol.doc and language == "python":
            code = DOCSTRING.sub(" ", code, count=1)
        yield Definition(path, symbol, code, symbol.doc)


def commits_of(mirror: Path, endings: Sequence[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield messages of commits, with the paths that each changed and the lines by which git names the places."""
    attributes = mirror / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text(
        "".join(f"*.{end} diff={name}\n" for name, ends in DRIVERS.items() for end in ends.split())
    )
    options = ("-c", f"diff.script.xfuncname={SCRIPT}", "-c", "diff.renames=false")
    log = (
        "log",
        "HEAD",
        "--no-merges",
        f"-n{COMMITS}",
        "--format=%x01%B%x02",
        "-U0",
        "-p",
        "--diff-filter=M",
        "--",
    )
    printed = git(mirror, *options, *log, *(f"*.{end}" for end in endings)).decode("utf8", "replace")
    for commit in printed.split("\x01")[1:]:
        message, _, patch = commit.partition("\x02")
        places, path = [], ""
        for line in patch.split("\n"):
            if line.startswith("+++ "):
                path = line[4:].removeprefix("b/")
            elif line.startswith("@@ "):
                places.append((path, line.split("@@", 2)[2]))
        yield TRAILER.sub("", message).strip(), places


def lessons_of(mirror: Path) -> Lessons:
    """Return what a repository teaches."""
    code: list[Ids] = []
    docs: list[Ids] = []
    named: dict[tuple[str, str], list[int]] = defaultdict(list)
    for path, symbol, text, doc in definitions_of(mirror):
        named[path, symbol.name].append(len(code))
        code.append(ids_of(f"{path} {symbol.qualified}\n{text}"[:2_500], 200))
        docs.append(ids_of(doc[:400], 60))
    messages: list[Ids] = []
    changes: list[list[int]] = []
    endings = sorted({path.rpartition(".")[2] for path, _ in named if "." in path})
    for message, places in commits_of(mirror, endings):
        changed = {at for path, line in places if (at := _definition_at(named, path, line)) is not None}
        if 1 <= len(changed) <= 6 and len(message.split()) >= 4 and not ROUTINE.match(message):
            messages.append(ids_of(message[:1_200], 180))
            changes.append(sorted(changed))
    starts = np.cumsum([0, *map(len, changes)])
    flat = np.array([at for change in changes for at in change], np.int32)
    return _fewer(Lessons(Texts.joined(code), Texts.joined(docs), Texts.joined(messages), flat, starts))


def _definition_at(named: dict[tuple[str, str], list[int]], path: str, line: str) -> int | None:
    """Return the definition that a line of git names, if the file has at most two of that name."""
    names = [name for name in IDENTIFIER.findall(line) if (path, name) in named]
    called = [name for name in names if re.search(re.escape(name) + r"\s*[(=]", line)] or names
    places = named[path, called[0]] if called else []
    return places[0] if 1 <= len(places) <= 2 else None


def _fewer(lessons: Lessons) -> Lessons:
    """Keep the definitions that commits changed, and some of the others, rather those with documentation."""
    count = len(lessons.code.starts) - 1
    if count <= MOST_DEFINITIONS:
        return lessons
    changed = np.unique(lessons.changed)
    others = np.setdiff1d(np.arange(count), changed)
    undocumented = np.diff(lessons.docs.starts)[others] < 4
    order = np.argsort(undocumented + 1.2 * np.random.default_rng(1).random(len(others)))
    kept = np.sort(np.concatenate([changed, others[order[: max(0, MOST_DEFINITIONS - len(changed))]]]))
    code, docs = [
        Texts.joined([texts.ids[texts.starts[at] : texts.starts[at + 1]] for at in kept])
        for texts in (lessons.code, lessons.docs)
    ]
    moved = np.searchsorted(kept, lessons.changed).astype(np.int32)
    return lessons._replace(code=code, docs=docs, changed=moved)


class Batch(NamedTuple):
    """Token ids and rows of queries and of definitions, and which pairs count neither as right nor as wrong."""

    queries: tuple[NDArray[np.int64], NDArray[np.int64]]
    definitions: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    ignored: NDArray[np.bool_]


def batch_of(lessons: Lessons, random: np.random.Generator) -> Batch:
    """Draw pairs: query i belongs to definition i; further definitions follow."""
    count = len(lessons.code.starts) - 1
    documented = np.flatnonzero(np.diff(lessons.docs.starts) >= 4)
    by_message = random.random() < MESSAGES or len(documented) < 64
    if by_message:
        places = random.integers(len(lessons.messages.starts) - 1, size=PAIRS)
        first, end = lessons.changed_starts[places], lessons.changed_starts[places + 1]
        right = lessons.changed[first + (random.random(PAIRS) * (end - first)).astype(np.int64)].astype(
            np.int64
        )
        whole = random.random() < 0.5
        queries = lessons.messages.chosen(places, 180 if whole else random.integers(8, 180, PAIRS))
    else:
        places = right = random.choice(documented, PAIRS)
        queries = lessons.docs.chosen(places)
    definitions = np.concatenate([right, random.integers(count, size=OTHERS)])
    ignored = definitions[None, :] == right[:, None]
    if by_message:
        for row, (start, stop) in enumerate(zip(first, end, strict=True)):
            ignored[row] |= np.isin(definitions, lessons.changed[start:stop])
    ignored[np.arange(PAIRS), np.arange(PAIRS)] = False
    texts = [lessons.code.chosen(definitions)]
    if by_message and random.random() < 0.8:
        texts.append(lessons.docs.chosen(definitions))
    return Batch(queries, texts, ignored)


def train(repositories: Sequence[Lessons]) -> NDArray[np.int8]:
    """Return a table of directions, shape (32000, 128)."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    size = len(load_model().table)
    table = (torch.randn(size, DIMENSION, device=device) * 0.02).requires_grad_(True)
    optimizer = torch.optim.Adam([table], lr=RATE, betas=(0.9, 0.99))

    def means(parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]], rows: int) -> Any:
        counts = torch.zeros(rows * size, device=device)
        for ids, row in parts:
            at = torch.from_numpy(row * size + ids).to(device)
            counts.index_add_(0, at, torch.ones(len(at), device=device))
        return torch.nn.functional.normalize(counts.view(rows, size) @ table, dim=1, eps=1e-6)

    sizes = [
        len(some.messages.starts) + 0.5 * np.sum(np.diff(some.docs.starts) >= 4) for some in repositories
    ]
    shares = np.minimum(sizes, 6_000) ** 0.7
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * min(1, 20 * step / STEPS) * (1 - step / STEPS)
        batch = batch_of(repositories[random.choice(len(repositories), p=shares / shares.sum())], random)
        cosines = means([batch.queries], PAIRS) @ means(batch.definitions, PAIRS + OTHERS).T
        logits = (cosines / TEMPERATURE).masked_fill(torch.from_numpy(batch.ignored).to(device), -1e4)
        loss = torch.nn.functional.cross_entropy(logits, torch.arange(PAIRS, device=device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} of {STEPS}: loss {loss.item():.3f}", file=sys.stderr, flush=True)
    values = table.detach().cpu().numpy()
    scale = 127 / np.quantile(np.abs(values), 0.9999)
    rounded: NDArray[np.int8] = np.clip(np.round(values * scale), -127, 127).astype(np.int8)
    return rounded


def judge(lessons: Lessons, table: NDArray[Any], questions: int = 600) -> dict[str, float]:
    """Return the mean reciprocal rank of the first changed definition, over messages of commits."""
    from scipy.sparse import csr_matrix

    count, size = len(lessons.code.starts) - 1, len(table)
    every = np.arange(count)
    parts = [lessons.code.chosen(every), lessons.docs.chosen(every)]
    ids, rows = (np.concatenate(some) for some in zip(*parts, strict=True))
    counts = csr_matrix((np.ones(len(ids)), (rows, ids)), (count, size))
    some = np.random.default_rng(0).permutation(len(lessons.messages.starts) - 1)[:questions]
    ids, rows = lessons.messages.chosen(some)
    asked = csr_matrix((np.ones(len(ids)), (rows, ids)), (len(some), size))
    lengths = counts.sum(axis=1).A1
    frequency = (counts > 0).sum(axis=0).A1
    idf = np.log1p((count - frequency + 0.5) / (frequency + 0.5))
    words = counts.tocoo()
    damped = words.data * 2.2 / (words.data + 1.2 * (0.25 + 0.75 * lengths[words.row] / lengths.mean()))
    weights = asked.copy()
    weights.data = (1 + np.log(weights.data)) * idf[weights.indices]
    bm25 = (weights @ csr_matrix((damped, (words.row, words.col)), (count, size)).T).toarray()
    values = np.asarray(table, np.float32)
    cosines = _units(asked @ values) @ _units(counts @ values).T
    scaled = [np.clip(s, 0, None) / np.maximum(s.max(axis=1, keepdims=True), 1e-9) for s in (bm25, cosines)]
    rankings = {"BM25": bm25, "cosine": cosines, "both": scaled[0] + scaled[1]}
    changed = [lessons.changed[lessons.changed_starts[at] : lessons.changed_starts[at + 1]] for at in some]
    return {
        name: float(
            np.mean(
                [1 / (1 + np.sum(row > row[right].max())) for row, right in zip(scores, changed, strict=True)]
            )
        )
        for name, scores in rankings.items()
    }


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return scaled


def names_of(role: str) -> list[str]:
    """Return the repositories of the list that teach (`train`) or judge (`held`), as names of files."""
    rows = [line.split() for line in LIST.read_text("utf8").splitlines()]
    return [name.replace("/", "+") for part, name, _ in rows if part == role]


def main() -> None:
    """Make pairs, train, or judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["pairs", "train", "judge"])
    parser.add_argument("pairs", type=Path, help="a folder for what the repositories teach")
    parser.add_argument("paths", type=Path, nargs="+", help="mirrors named OWNER+NAME, or the table")
    options = parser.parse_args()
    if options.task == "pairs":
        options.pairs.mkdir(exist_ok=True)
        for mirror in options.paths:
            lessons_of(mirror).save(options.pairs / f"{mirror.name}.npz")
        return
    role = "train" if options.task == "train" else "held"
    lessons = {name: Lessons.load(options.pairs / f"{name}.npz") for name in names_of(role)}
    if options.task == "train":
        np.save(options.paths[0], train(list(lessons.values())))
        return
    tables = {"WordLlama": load_model().table, "ours": np.load(options.paths[0])}
    for label, table in tables.items():
        judged = [judge(some, table) for some in lessons.values()]
        means = {name: np.mean([scores[name] for scores in judged]) for name in judged[0]}
        print(label, " ".join(f"{name} {mean:.3f}" for name, mean in means.items()))


if __name__ == "__main__":
    main()
