"""Make the tables of n-grams that tell languages apart, src/sleuth/text/languages.npz.

    pip install numpy scipy wordfreq
    git clone https://github.com/hermitdave/FrequencyWords
    for name in mediawiki wesnoth-1.16-data libreoffice-l10n-{af,br,cy,ga,...}; do  # Debian's packages
        apt-get download $name && dpkg-deb -x ${name}_*.deb catalogues; done
    python tools/language_tables.py --words FrequencyWords/content/2018 --catalogues catalogues

The texts stay where they are: only how often n-grams occur goes into the tables. For each language, the words of each
source are counted (web and books by wordfreq, subtitles by FrequencyWords, catalogues of programs, articles of games),
texts of 2 to 14 words are drawn from the mean of these counts, and a linear classifier over hashes of n-grams
(`sleuth.text.ngrams`) learns whose they are, by Adagrad from the log probabilities of naive Bayes. Code is
a language of its own.
"""

from __future__ import annotations

import argparse
import gettext
import json
import re
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.text.detection import TABLES
from sleuth.text.words import fold, without_accents

LATIN: Final = (
    "en ca cs da de eo es et eu fi fr ga hu id it lt nl no pl pt ro sr st sv tr vi af ast az br cy fy gd gl hr ht ig is"
    " jv ku la lb lg lv mg ms mt nso oc rw sk sl sn so sq sw tl tn ts uz xh yo zu zxx"
)
SCRIPTS: Final = {  # rows as a power of two, first and last letters, languages
    "latin": (13, "a\u024f\u1e00\u1eff", LATIN.split()),
    "cyrillic": (12, "\u0400\u052f", "ru uk be bg sr mk kk ky mn tg tt ba".split()),  # noqa: SIM905
    "arabic": (11, "\u0600\u06ff", "ar fa ur ps ckb ug sd".split()),  # noqa: SIM905
    "devanagari": (11, "\u0900\u097f", ["hi", "ne", "mr", "sa"]),
    "hebrew": (10, "\u0590\u05ff", ["he", "yi"]),
}
CODES: Final = {
    "bs": "hr", "nb": "no", "nn": "no", "fil": "tl", "kmr": "ku", "ku-latn": "ku", "kk-cyrl": "kk", "sr-ec": "sr",
    "sr-el": "sr",
    "tg-cyrl": "tg", "tt-cyrl": "tt", "ug-arab": "ug", "pt-br": "pt",
}  # fmt: skip
WORD: Final = re.compile(r"[^\W\d_]+(?:[\u0300-\u0dff]+[^\W\d_]*)*")
NO_PROSE: Final = re.compile(
    r"<[^<>]*>|\{\{[^{}]*\}\}|\[\[[^\]\[|]*\||https?:\S+|[$%~&\\]\(?\w+"  # markup and places for values
)
COMMENT: Final = re.compile(r'"""(?s:.*?)"""|/\*(?s:.*?)\*/|#.*|//.*')
MOST_WORDS: Final = 20_000  # of a source
FEWEST: Final = 300  # words of a source that counts
HASH: Final = np.uint32(0x9E3779B1)  # of ngrams.pyx
LONGEST: Final = 4
FLOOR: Final = 1e-6  # the probability of what was not seen; of 1e-8 to 1e-5 it told most texts apart
TEXTS: Final = 2_000  # of a language
MALAY_TEXTS: Final = 700  # fewer, so that Indonesian, which has an analyzer, is not taken for it
EPOCHS, BATCH, RATE = 15, 1_024, 0.1
UNIT: Final = 1 / 64  # of the tables, in natural logarithms: as of `sleuth.text.detection`
START: Final = 0.3  # of the log probabilities: n-grams of a word depend on each other


def messages_of(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the source, the language and the texts of each catalogue below a folder."""
    for path in sorted(folder.rglob("LC_MESSAGES/*.mo")):
        language = path.parts[-3].split("@")[0].split("_")[0]
        if "ijekavian" in path.parts[-3]:  # Serbian as Croatian is written
            continue
        try:
            with path.open("rb") as file:
                catalogue: dict[Any, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except ValueError:  # a plural rule that gettext does not know
            continue
        yield path.parts[-6], language, [text for key, text in catalogue.items() if key and key != text]
    for path in sorted(folder.rglob("i18n/**/*.json")):
        if path.stem not in {"en", "qqq"}:
            texts = json.loads(path.read_text("utf8")).values()
            yield "mediawiki", path.stem, [text for text in texts if isinstance(text, str)]


def words_of(counts_folder: Path, catalogues: Path) -> dict[str, dict[str, Counter[str]]]:
    """Return how often words occur, by language and source."""
    import wordfreq

    words: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for name in set(wordfreq.available_languages("best")) - {"sh", "ja", "ko", "zh"}:  # "sh" is two of ours
        frequencies = wordfreq.get_frequency_dict(name, "best")
        words[CODES.get(name, name)]["wordfreq"].update({w: round(f * 1e9) for w, f in frequencies.items()})
    for folder in sorted(counts_folder.iterdir()):
        names = [folder / f"{folder.name}_{part}.txt" for part in ("50k", "full")]
        lines = next((path.read_text("utf8").splitlines() for path in names if path.exists()), [])
        counts = words[CODES.get(folder.name, folder.name)]["subtitles"]
        for line in lines[: 3 * MOST_WORDS]:
            word, _, count = line.rpartition(" ")
            counts[fold(word)] += int(count)
    for source, name, texts in messages_of(catalogues):
        for text in texts:
            words[CODES.get(name, name)][source].update(WORD.findall(fold(NO_PROSE.sub(" ", text))))
    for path in [*Path(sysconfig.get_path("stdlib")).rglob("*.py"), *Path("/usr/include").rglob("*.h")]:
        code = COMMENT.sub(" ", path.read_text("utf8", "replace"))
        words["zxx"]["code"].update(WORD.findall(fold(code)))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))  # keys and certificates
    noise = [letters[row] for row in np.random.default_rng(1).integers(0, 26, (MOST_WORDS, 5))]
    words["zxx"]["noise"].update("".join(row) for row in noise)
    for source, counts in list(words["yo"].items()):  # its Wikipedia, for one, is often written without marks
        for word, times in counts.items():
            words["yo"][f"{source}, plain"][without_accents(word)] += times
    return words


def distribution(sources: dict[str, Counter[str]], letters: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return the words of a language in a script, and how likely each is: a mean over sources."""
    ranges = list(zip(letters[::2], letters[1::2], strict=True))
    total: Counter[str] = Counter()
    for source, counts in sources.items():
        words = {
            word: times
            for word, times in counts.most_common(4 * MOST_WORDS)
            if any(first <= word[:1] <= last for first, last in ranges) and WORD.fullmatch(word)
        }
        words = dict(list(words.items())[:MOST_WORDS])
        size = sum(words.values())
        if size >= FEWEST:
            weight = 2.0 if source == "wordfreq" else min(1.0, size / MOST_WORDS)
            total.update({word: weight * times / size for word, times in words.items()})
    shares = np.array(list(total.values()), np.float64)
    return list(total), shares / shares.sum()


def rows_of(words: list[str], bits: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the place of the word and the row of every n-gram, as `sleuth.text.ngrams` hashes it."""
    text = "".join(sign for sign in f" {' '.join(words)} " if sign == " " or sign.isalpha())
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    is_blank = points == ord(" ")
    word = np.cumsum(is_blank) - 1 - is_blank  # a blank ends the word before it
    is_inside = np.ones(len(points), np.bool_)  # no blank stands between the last letter and the first
    hashes = np.zeros(len(points), np.uint32)
    places, rows = [], []
    for n in range(LONGEST):
        letter = np.concatenate([np.zeros(n, np.uint32), points[: len(points) - n]])
        hashes = (hashes + letter) * HASH
        is_ngram = is_inside & (np.arange(len(points)) >= n) if n else ~is_blank
        places.append(word[is_ngram])
        rows.append((hashes >> np.uint32(32 - bits))[is_ngram])
        if n:
            is_inside &= letter != ord(" ")
    return np.concatenate(places), np.concatenate(rows)


def train(
    words: list[tuple[list[str], NDArray[np.float64]]], texts: list[int], bits: int
) -> NDArray[np.float32]:
    """Return what each row says for each language, shape (rows, languages).

    Args:
        words: of each language, and how likely they are.
        texts: how many are drawn for each language.
    """
    from scipy.sparse import csr_matrix

    random = np.random.default_rng(1)
    start = np.empty((len(words), 1 << bits))
    drawn: list[str] = []
    sizes = [random.integers(2, 15, count) for count in texts]
    for language, (names, shares) in enumerate(words):
        places, rows = rows_of(names, bits)
        likely = np.bincount(rows, weights=shares[places], minlength=1 << bits)
        start[language] = np.log(likely / likely.sum() + FLOOR)
        drawn += [names[i] for i in random.choice(len(names), int(sizes[language].sum()), p=shares)]
    weights = (START * (start - start.mean(0))).T.astype(np.float32)
    text_of_word = np.repeat(np.arange(sum(texts)), np.concatenate(sizes))
    expected = np.repeat(np.arange(len(texts)), texts)
    places, rows = rows_of(drawn, bits)
    counts = csr_matrix(
        (np.ones(len(rows), np.float32), (text_of_word[places], rows)), (sum(texts), 1 << bits)
    )
    squares = np.full_like(weights, 1e-3)
    for _ in range(EPOCHS):
        order = random.permutation(len(expected))
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            scores = counts[batch] @ weights
            errors = np.exp(scores - scores.max(1, keepdims=True))
            errors /= errors.sum(1, keepdims=True)
            errors[np.arange(len(batch)), expected[batch]] -= 1
            gradient = (counts[batch].T @ errors) / len(batch)
            squares += gradient * gradient
            weights -= RATE * gradient / np.sqrt(squares)
    centred: NDArray[np.float32] = weights - weights.mean(1, keepdims=True)
    return centred


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=Path, required=True, help="folder of FrequencyWords")
    parser.add_argument("--catalogues", type=Path, required=True, help="folder of unpacked packages")
    parser.add_argument("--output", type=Path, default=TABLES)
    options = parser.parse_args()
    words = words_of(options.words, options.catalogues)
    arrays: dict[str, NDArray[Any]] = {}
    for script, (bits, letters, codes) in SCRIPTS.items():
        distributions = [distribution(words[code], letters) for code in codes]
        texts = [MALAY_TEXTS if code == "ms" else TEXTS for code in codes]
        weights = train(distributions, texts, bits)
        values = np.clip(np.round(weights / UNIT), -127, 127)
        arrays[script] = np.ascontiguousarray(values, np.int8)
        arrays[f"{script}_codes"] = np.array(codes)
        print(f"{script}: {len(codes)} languages, {arrays[script].nbytes:,} bytes", flush=True)
    np.savez(options.output, allow_pickle=False, **arrays)


if __name__ == "__main__":
    main()
