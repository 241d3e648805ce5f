"""How well are passages found in other languages than English, beside BM25 over the language's Snowball stems?

    python -m benchmarks.languages --folder .data/xquad            # xquad.de.json ... of github.com/deepmind/xquad
    python -m benchmarks.languages --unit paragraph --languages de ru --together

Documents are the sentences (or paragraphs) of XQuAD, added without naming their language; queries are its questions;
the right hit is the sentence with the answer. Prints MRR@10 of the baseline, of words alone and of both legs, and the
mean share of the vector leg's weight that remained, because the embedder knew the words. --together uses one index.

    pip install "py3langid==0.4.0"
    python -m benchmarks.languages --detect lingua-py/language-testdata/sentences   # of github.com/pemistahl/lingua-py

How often is the language of a text right? Texts of so many words are cut from the sentences of each file (de.txt ...),
200 of each language. Prints who is right how often, and of which languages the tables are worse.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sleuth import Document, Engine
from sleuth.text.detection import _by_script, _scored, _word, detect_language
from sleuth.text.languages import LANGUAGES
from sleuth.text.words import fold

K: Final = 10
SAME_LANGUAGE: Final = {"nb": "no", "nn": "no", "srl": "sr", "bs": "hr", "yue": "zh", "wuu": "zh"}
_SENTENCE_END: Final = re.compile(r"[.!?؟][\s\"”)]+|[।。！？]\s*")
_THAI_SENTENCE_END: Final = re.compile(r"\s+")


@dataclass(frozen=True)
class Collection:
    """Passages by id, and questions with the id of the passage that answers."""

    passages: dict[str, str]
    questions: list[tuple[str, str]]


def read(path: Path, language: str, unit: str) -> Collection:
    """Return the passages and questions of one language."""
    border = _THAI_SENTENCE_END if language == "th" else _SENTENCE_END
    passages: dict[str, str] = {}
    questions: list[tuple[str, str]] = []
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            ends = [match.end() for match in border.finditer(text)] if unit == "sentence" else []
            spans = [(a, b) for a, b in zip([0, *ends], [*ends, len(text)], strict=True) if text[a:b].strip()]
            ids = {span: f"{language}{len(passages) + i:06d}" for i, span in enumerate(spans)}
            passages.update((id, text[a:b].strip()) for (a, b), id in ids.items())
            for question in paragraph["qas"]:
                start = question["answers"][0]["answer_start"]
                questions += [(question["question"], id) for (a, b), id in ids.items() if a <= start < b]
    return Collection(passages, questions)


def mean_reciprocal_rank(collection: Collection, search: Callable[[str], list[str]]) -> float:
    """Return the mean over all questions of 1 / rank of the right passage among the first ten."""
    ranks = [(search(question), right) for question, right in collection.questions]
    return sum(1 / (ids.index(right) + 1) for ids, right in ranks if right in ids) / len(ranks)


class Baseline:
    """BM25 (k1 = 1.5, b = .75) over lower-cased words, stemmed by Snowball where it knows the language."""

    def __init__(self, collection: Collection, language: str) -> None:
        self._stem: Callable[[list[str]], list[str]] = list
        algorithm = "english" if language == "en" else getattr(LANGUAGES.get(language), "stemmer", "")
        if algorithm:
            import Stemmer

            self._stem = Stemmer.Stemmer(algorithm).stemWords
        self._ids = list(collection.passages)
        texts = [self._tokens(text) for text in collection.passages.values()]
        lengths = np.array([len(text) for text in texts])
        self._norms = 1.5 * (0.25 + 0.75 * lengths / lengths.mean())
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        for row, text in enumerate(texts):
            for token, times in Counter(text).items():
                self._postings[token][row] = times

    def _tokens(self, text: str) -> list[str]:
        return self._stem(re.findall(r"\w+", text.lower()))

    def search(self, query: str) -> list[str]:
        scores = np.zeros(len(self._ids))
        for token in self._tokens(query):
            rows = self._postings.get(token, {})
            idf = math.log(1 + (len(self._ids) - len(rows) + 0.5) / (len(rows) + 0.5))
            for row, times in rows.items():
                scores[row] += idf * times / (times + self._norms[row])
        best = np.argsort(-scores, kind="stable")[:K]
        return [self._ids[row] for row in best if scores[row] > 0]


def searches(engine: Engine, legs: list[str] | None) -> Callable[[str], list[str]]:
    """Return a search for the ids of documents."""
    return lambda query: [item.metadata["source"] for item in engine.retrieve(query, K, legs=legs)]


def measure(collections: dict[str, Collection], folder: Path) -> None:
    """Index these collections together and print a row for each."""
    with Engine.open(folder / "+".join(collections), create=True) as engine:
        for collection in collections.values():
            engine.add(Document(text, {"source": id}) for id, text in collection.passages.items())
        for language, collection in collections.items():
            figures: list[Any] = [
                mean_reciprocal_rank(collection, search)
                for search in (
                    Baseline(collection, language).search,
                    searches(engine, ["lexical"]),
                    searches(engine, None),
                )
            ]
            cells = " | ".join(f"{f:.3f}" for f in figures)
            print(f"| {language} | {len(collection.passages):,} | {cells} |")


def detect(folder: Path) -> None:
    """Print how often languages are right."""
    from py3langid import langid

    package = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    deciders: dict[str, Callable[[str], str]] = {
        "detect_language": detect_language,
        "tables": lambda text: _by_script(text) or next(iter(_scored("latin", _word.findall(fold(text))))),
        "py3langid": lambda text: str(package.classify(text)[0]),
    }
    print(f"| words | {' | '.join(deciders)} |\n|--:|" + "--:|" * len(deciders))
    worse: list[str] = []
    for size in (5, 10, 20, 50):
        shares: dict[str, dict[str, float]] = defaultdict(dict)
        for path in sorted(folder.glob("*.txt")):
            expected = SAME_LANGUAGE.get(path.stem, path.stem)
            words = re.findall(r"\S{4}" if expected in {"ja", "th", "zh"} else r"\S+", path.read_text("utf8"))
            starts = range(0, len(words) - size + 1, max(size, len(words) // 200))
            texts = [" ".join(words[start : start + size]) for start in starts]
            for name, decide in deciders.items():
                right = sum(SAME_LANGUAGE.get(code, code) == expected for code in map(decide, texts))
                shares[name][path.stem] = right / len(texts)
        means = [f"{sum(row.values()) / len(row):.3f}" for row in shares.values()]
        print(f"| {size} | {' | '.join(means)} |")
        worse += [
            f"{code} ({size} words) {shares['tables'][code]:.3f} for {share:.3f}"
            for code, share in shares["py3langid"].items()
            if size >= 20 and shares["tables"][code] < share - 0.01
        ]
    print("worse:", ", ".join(worse))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / ".data" / "xquad")
    parser.add_argument("--unit", choices=["sentence", "paragraph"], default="sentence")
    parser.add_argument("--languages", nargs="*")
    parser.add_argument("--together", action="store_true", help="one index for all languages")
    parser.add_argument("--detect", type=Path, metavar="FOLDER", help="of files of sentences, by language")
    options = parser.parse_args()
    if options.detect:
        detect(options.detect)
        return
    paths = {path.name.split(".")[1]: path for path in sorted(options.folder.glob("xquad.*.json"))}
    selection = options.languages or list(paths)
    collections = {language: read(paths[language], language, options.unit) for language in selection}
    print("| language | passages | Snowball, BM25 | words | words and meaning |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for part in [collections] if options.together else [{code: one} for code, one in collections.items()]:
            measure(part, Path(folder))


if __name__ == "__main__":
    main()
