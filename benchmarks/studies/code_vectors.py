"""Would token vectors that are trained on code rank it better? Makes them: pairs of text and code, tokens, a table.

python -m benchmarks.studies.code_vectors pairs --mirrors FOLDER --work FOLDER NAME ...
python -m benchmarks.studies.code_vectors train --work FOLDER [--steps 4600] [--batch 1024]

A pair is a description and the code that it is about. Descriptions are first sentences of docstrings, comments inside
functions, names cut into words, subjects of commits, heads of files, and headings of documents. The code has its path
and its qualified name, as pieces have in an index, and none of its comments. Nine tenths of a batch are of two
repositories, so that a description must tell its code from other code of the same project. The vector of a text is the
sum of its tokens' vectors; training makes the cosine of a pair greater than those of all other pairs of the batch
(InfoNCE, both ways). What it gains is in docs/measured/code.md. Needs `pip install torch tokenizers`.

The repositories of `code_board`, `code_quality` and `code_functions` must not be among the mirrors.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sleuth.code.parsing.detail import Detail, Symbol
from sleuth.code.parsing.facts import SourceText, facts_of
from sleuth.code.parsing.languages import LANGUAGES, language_of
from sleuth.dense import Vocabulary

CONTROL = [b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % byte for byte in range(256))]
DIMENSION = 256
SIZE = 24_000
"""Of the vocabulary."""
MOST = {"doc": 7_000, "name": 2_500, "comment": 2_500, "commit": 2_500, "head": 1_500, "heading": 600}
"""Pairs of a kind from a repository."""
COMMITS = 1_500
SCALE, RATE, DROP = 12.0, 0.02, 0.15
_LEGAL = re.compile(r"copyright|licen[sc]e|SPDX|@author|rights reserved|auto-?generated|do not edit", re.I)
_OTHERS = re.compile(
    r"(^|/)(vendor|third_party|node_modules|dist|external|generated|fixtures?|testdata)/|\.min\.", re.I
)
_TESTS = re.compile(r"(^|/)(tests?|spec|__tests__)/|[._](test|spec)\.", re.I)
_COMMENT = re.compile(r"^\s*(?:/{2,}|#(?![!\[{])|--)\s?(.*)$")
_BLOCK = re.compile(r'/\*.*?\*/|""".*?"""|' + r"'''.*?'''", re.S)
_END_OF_SENTENCE = re.compile(
    r"^\s*(@\w+|:\w+[^:]*:|Args:|Returns:|Parameters|Example|>>>|```|===|---)", re.I
)
_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+|\W+")
_SCOPE = re.compile(r"^(\w+(\([^)]*\))?!?:|\[[^\]]*\]|[\w./-]+:)\s*|\s*\(?#\d+\)?\.?$")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SIGNS_AS_BLANKS = bytes(byte if byte >= 128 or chr(byte).isalnum() else ord(" ") for byte in range(256))
_WORD = re.compile(r"[A-Za-z]{2,}")
_CHORE = re.compile(
    r"bump|merge|release|update (dep|version|change)|revert|prepare|upgrade|typo|lint|format", re.I
)


class Pair(NamedTuple):
    """A description, and the code that it is about."""

    kind: str
    text: str
    code: str


def as_words(text: str) -> bytes:
    """Return a text in UTF-8 as the vectors read it: words and parts of names in small letters, one blank apart."""
    text = _INNER_CAPITAL.sub(" ", text)
    text = text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())
    return b" ".join(text.encode("utf-8", "replace").translate(_SIGNS_AS_BLANKS).split())


def git(mirror: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Return what git prints."""
    command = ["git", "--git-dir", str(mirror), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def files_of(mirror: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield path, language and content of the sources and documents of the newest commit, 4,000 at most."""
    rows = []
    for row in git(mirror, "ls-tree", "-r", "-l", "-z", "HEAD").split(b"\0"):
        meta, _, name = row.partition(b"\t")
        path, fields = name.decode("utf-8", "replace"), meta.split()
        language = language_of(path)
        if (
            language is None
            or _OTHERS.search(path)
            or not (fields[3].isdigit() and 200 < int(fields[3]) < 300_000)
        ):
            continue
        if LANGUAGES[language.name].package or language.name == "markdown":
            rows.append((path, language.name, fields[2]))
    random.Random(0).shuffle(rows)
    data, at = git(mirror, "cat-file", "--batch", stdin=b"\n".join(blob for *_, blob in rows[:4_000])), 0
    for path, language_name, _ in rows[:4_000]:
        end = data.index(b"\n", at)
        head = data[at:end].split()
        size = int(head[2]) if head[1] == b"blob" else -1
        if size >= 0:
            yield path, language_name, data[end + 1 : end + 1 + size]
        at = end + 2 + size


def sentence_of(doc: str) -> str:
    """Return the first paragraph of a description on one line, "" where it says too little or is legal text."""
    lines: list[str] = []
    for line in doc.strip().split("\n")[:8]:
        if not line.strip() or _END_OF_SENTENCE.match(line):
            break
        lines.append(line.strip())
    text = " ".join(" ".join(lines).split())[:400]
    return text if 3 <= len(_WORD.findall(text)) <= 70 and not _LEGAL.search(text) else ""


def without_comments(text: str) -> str:
    """Return code without comments and docstrings."""
    return "\n".join(line for line in _BLOCK.sub("", text).split("\n") if not _COMMENT.match(line))


def pairs_of_file(path: str, language: str, content: bytes) -> Iterator[Pair]:
    """Yield the pairs of one file."""
    text = content.decode("utf-8", "replace")
    if language == "markdown":
        for part in re.split(r"^#+\s+", text, flags=re.M)[1:]:
            heading, _, body = part.partition("\n")
            if 2 <= len(_WORD.findall(heading)) <= 25 and len(_WORD.findall(body)) > 15:
                yield Pair("heading", heading, body[:1_500])
        return
    facts = facts_of(SourceText(path, content, language))
    symbols = Detail.read(facts.packed, content, path).symbols
    lines = text.split("\n")
    if head := sentence_of("\n".join(match[1] for line in lines[:30] if (match := _COMMENT.match(line)))):
        yield Pair("head", head, f"{path}\n{facts.names[:400]}\n{without_comments(chr(10).join(lines[:90]))}")
    for symbol in symbols:
        if symbol.kind not in ("constant", "attribute", "property") and symbol.end - symbol.start >= 2:
            yield from _pairs_of_symbol(path, symbol, lines)


def _pairs_of_symbol(path: str, symbol: Symbol, lines: list[str]) -> Iterator[Pair]:
    head = f"{path} {symbol.qualified}\n"
    last = min(symbol.end, symbol.line + 69)
    code = without_comments("\n".join(lines[symbol.line - 1 : last]))
    if doc := sentence_of(symbol.doc):
        yield Pair("doc", doc, head + code)
    name = _PARTS.sub(" ", symbol.name).split()
    if len(name) > 1 and not doc:
        yield Pair("name", " ".join(name), f"{path}\n{code.replace(symbol.name, '')}")
    for at in range(symbol.line, last):
        comment = _COMMENT.match(lines[at])
        if comment and not _COMMENT.match(lines[at - 1]) and (sentence := sentence_of(comment[1])):
            around = "\n".join(lines[max(symbol.line - 1, at - 6) : min(symbol.end, at + 25)])
            yield Pair("comment", sentence, head + without_comments(around))


def pairs_of_commits(mirror: Path) -> Iterator[Pair]:
    """Yield subjects of commits with what they changed, as it was before."""
    options = ("--no-merges", f"-n{COMMITS}", "-U6", "-p", "--diff-filter=M", "--no-color", "--format=%x01%s")
    for commit in git(mirror, "log", *options, "HEAD").decode("utf-8", "replace").split("\x01")[1:]:
        subject, _, patch = commit.partition("\n")
        sentence = sentence_of(_SCOPE.sub("", _SCOPE.sub("", subject)))
        diffs = [part.partition("\n") for part in patch.split("\n+++ b/")[1:]]
        diffs = [
            (p, s, t)
            for p, s, t in diffs
            if language_of(p) and not _OTHERS.search(p) and not _TESTS.search(p)
        ]
        if sentence and not _CHORE.match(sentence) and 1 <= len(diffs) <= 4:
            for path, _, diff in diffs:
                before = [
                    line.split("@@", 2)[-1] if line.startswith("@@") else line[1:]
                    for line in diff.split("\n")
                    if line[:1] in (" ", "-", "@") and not line.startswith("--- ")
                ]
                yield Pair("commit", sentence, f"{path}\n" + "\n".join(before)[:2_500])


def write_pairs(mirror: Path, to: Path) -> None:
    """Keep the pairs of a repository, so many of each kind."""
    by_kind: dict[str, list[Pair]] = {kind: [] for kind in MOST}
    every = [pair for file in files_of(mirror) if not _TESTS.search(file[0]) for pair in pairs_of_file(*file)]
    for pair in dict.fromkeys([*every, *pairs_of_commits(mirror)]):
        if len(_WORD.findall(pair.code)) >= 5:
            by_kind[pair.kind].append(pair._replace(code=pair.code[:3_000]))
    for pairs in by_kind.values():
        random.Random(0).shuffle(pairs)
    rows = [pair for kind, pairs in by_kind.items() for pair in pairs[: MOST[kind]]]
    to.write_bytes(zlib.compress(json.dumps(rows).encode()))
    print(f"{to.stem}: {dict(Counter(pair.kind for pair in rows))}", flush=True)


def vocabulary_of(repositories: list[list[Pair]]) -> list[bytes]:
    """Return the tokens of byte-pair encoding over all words; a repository counts a word 200 times at most."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    words: Counter[bytes] = Counter()
    for pairs in repositories:
        own = Counter(word for pair in pairs for word in as_words(f"{pair.text} {pair.code}").split())
        words.update({word: min(times, 200) for word, times in own.items()})
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=SIZE - len(CONTROL), min_frequency=6, limit_alphabet=300)
    often = [
        (word.decode("utf-8", "ignore"), times)
        for word, times in words.items()
        if times > 3 and len(word) < 25
    ]
    tokenizer.train_from_iterator(
        (f"\u2581{word}" for word, times in often for _ in range(times // 4 + 1)), trainer
    )
    ids: dict[str, int] = json.loads(tokenizer.to_str())["model"]["vocab"]
    return [*CONTROL, *(token.replace("\u2581", " ").encode() for token in sorted(ids, key=ids.__getitem__))]


def train(repositories: list[list[Pair]], tokens: list[bytes], steps: int, batch: int) -> Any:
    """Return the table of token vectors, shape (tokens, 256)."""
    import torch
    from torch.nn import functional

    device = "cuda" if torch.cuda.is_available() else "cpu"
    vocabulary, chance = Vocabulary(tokens), np.random.default_rng(0)
    torch.manual_seed(0)
    ids = [
        [(vocabulary.encode(as_words(p.text))[:56], vocabulary.encode(as_words(p.code))[:220]) for p in pairs]
        for pairs in repositories
    ]
    sizes = np.array([len(pairs) for pairs in ids]) ** 0.7
    table = torch.nn.Parameter(torch.randn(len(tokens), DIMENSION, device=device) * 0.05)
    optimizer = torch.optim.Adam([table], lr=RATE, betas=(0.9, 0.98))

    def sums(texts: list[Any]) -> Any:
        flat = torch.from_numpy(np.concatenate(texts).astype(np.int64)).to(device)
        starts = torch.tensor(np.cumsum([0, *map(len, texts[:-1])]), device=device)
        weights = (torch.rand(len(flat), device=device) > DROP).float()
        vectors = functional.embedding_bag(flat, table, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(vectors, dim=1)

    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, 20 * (step + 1) / steps) * max(0.02, 1 - step / steps)
        two = chance.choice(len(ids), 2, p=sizes / sizes.sum())
        others = chance.integers(0, len(ids), batch // 10)
        rows = [ids[r][chance.integers(len(ids[r]))] for r in (*np.repeat(two, batch * 9 // 20), *others)]
        unique = list(
            {text.tobytes() + code.tobytes(): (text, code) for text, code in rows if len(text)}.values()
        )
        texts, codes = sums([text for text, _ in unique]), sums([code for _, code in unique])
        names = np.array([hash(text.tobytes()) for text, _ in unique])
        same = torch.from_numpy((names[:, None] == names) & ~np.eye(len(names), dtype=bool)).to(device)
        scores = (SCALE * texts @ codes.T).masked_fill(same, -1e4)
        right = torch.arange(len(unique), device=device)
        loss = functional.cross_entropy(scores, right) + 0.5 * functional.cross_entropy(scores.T, right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            print(step, round(loss.item(), 3), flush=True)
    return table.detach().cpu().numpy()


def main() -> None:
    """Do one step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("pairs", "train"))
    parser.add_argument("names", nargs="*", help="of mirrors")
    parser.add_argument("--mirrors", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=4_600)
    parser.add_argument("--batch", type=int, default=1_024)
    options = parser.parse_intermixed_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.step == "pairs":
        for name in options.names:
            write_pairs(options.mirrors / name, options.work / f"{name}.pairs")
    else:
        files = sorted(options.work.glob("*.pairs"))
        every = [[Pair(*row) for row in json.loads(zlib.decompress(file.read_bytes()))] for file in files]
        tokens = vocabulary_of(every)
        (options.work / "tokens").write_bytes(b"\n".join(tokens))
        np.save(options.work / "table.npy", train(every, tokens, options.steps, options.batch))


if __name__ == "__main__":
    main()
