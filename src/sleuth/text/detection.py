"""The language of a text: by its script and the n-grams of its words, which its commonest words must confirm."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.text.languages import ENGLISH, LANGUAGES, UNKNOWN
from sleuth.text.ngrams import add_rows
from sleuth.text.stopwords import ENGLISH as ENGLISH_STOP_WORDS
from sleuth.text.stopwords import stop_words
from sleuth.text.words import fold

TABLES: Final = Path(__file__).with_name("languages.npz")
"""By script, its languages and what each hash of an n-gram says for each of them (`tools/language_tables.py`)."""
_SAMPLE: Final = 800
"""Characters that are looked at: of the start, and of the middle of a longer text."""
_SCORED: Final = 64
"""Words whose n-grams are looked up, from all over the sample: up to twice as many, at .2 µs each."""
_LEAST_WORDS: Final = 5
"""Only the script decides on a shorter text, since a name looks like any language."""
_PROSE: Final = 12
"""Words from which on a language without stop words is believed."""
_HEAD: Final = 400
"""Characters of the start in which English is looked for first: most texts are decided there, at 5 µs each."""
_ENGLISH_WORDS: Final = frozenset(
    "the and of to that this with from which is were for by it its we can how".split()  # noqa: SIM905
)
_ENGLISH_SHARE: Final = 0.1  # of all words, see below
_LONG_WORD: Final = 12
_LEAST_SHARE: Final = 0.05  # of a text with accents
_LEAST_PLAIN_SHARE: Final = 0.1
"""Shares of stop words among all words. Prose has .15 to .45 of its own language, and under .06 of most others. Texts
without accents need more: code and tables hold a few short words of every language."""
_WORDS_FOR_ANOTHER: Final = 15
_MOST_DIFFERENT: Final = 3
"""A text holds a stop word of its language, and another for each so many words, up to this many: code and tables repeat
one or two ("op" is a word of Dutch, "os" of Portuguese, and "li" of Esperanto and of HTML)."""
_LEAST_STOP_WORDS: Final = 2
"""Different stop words that make a query one of a language other than English."""
_CODE: Final = "zxx"
"""What the tables call code."""
_UNITS: Final = 64
"""Steps of the tables for a natural logarithm."""
_SURE_LEAD: Final = 3.0
"""What makes a language likelier than English and code, for each word: prose has 3 to 10, certificates up to 2."""

_BLOCK: Final = 4
_SCRIPTS: Final = {
    "ja": (0x304, 0x310), "ko": (0xAC0, 0xD7B), "zh": (0x340, 0xA00), "th": (0xE0, 0xE8), "el": (0x37, 0x40),
    "hy": (0x53, 0x59), "hebrew": (0x59, 0x60), "ta": (0xB8, 0xC0), "ka": (0x10A, 0x110), "cyrillic": (0x40, 0x53),
    "arabic": (0x60, 0x78), "devanagari": (0x90, 0x98), "bn": (0x98, 0xA0), "pa": (0xA0, 0xA8), "gu": (0xA8, 0xB0),
    "or": (0xB0, 0xB8), "te": (0xC0, 0xC8), "kn": (0xC8, 0xD0), "ml": (0xD0, 0xD8), "si": (0xD8, 0xE0),
    "lo": (0xE8, 0xF0), "bo": (0xF0, 0x100), "my": (0x100, 0x10A), "am": (0x120, 0x13A), "km": (0x178, 0x180),
}  # fmt: skip
"""The only language of a script, or the table of its languages, and its characters by blocks of 16: first and past the
last. Japanese stands before Chinese, whose characters it uses too."""
_SHARE_OF_SCRIPT: Final = 0.3
_LATIN_NAME: Final = re.compile(r"(?<![^\W\d_])[A-Z][A-Za-z\u00c0-\u024f\u1e00-\u1eff]*")
"""A word that begins with a capital: texts in other scripts name teams and companies in Latin letters."""
_NOT_LATIN: Final = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_ACCENTED: Final = re.compile(r"[^\W\d_\u0000-\u007f]")
_FEW: Final = 0.05
"""Up to this share of non-Latin letters among all characters, scripts are not examined: most texts are Latin."""
_VIETNAMESE: Final = re.compile("[\u0111\u01a1\u01b0\u1ea0-\u1ef9]")
_VIETNAMESE_SHARE: Final = 0.05  # of all letters: a few names in other text hold fewer

_word = re.compile(r"[^\W\d_]+(?:[\u0300-\u0dff]+[^\W\d_]*)*")
_LETTERS_ALONE: Final = bytes(  # for texts without accents: a fifth of the time that `_word` takes
    byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalpha() else ord(" ") for byte in range(256)
)


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the language of a text; "" where the text is too short or too mixed to tell."""
    words = text[:_HEAD].lower().split()  # scripts without spaces seem to have few
    has_words = len(words) >= max(_LEAST_WORDS, min(len(text), _HEAD) / _LONG_WORD)
    if has_words and sum(map(_ENGLISH_WORDS.__contains__, words)) >= _ENGLISH_SHARE * len(words):
        return ENGLISH
    start = (len(text) - _SAMPLE) // 2  # of the middle
    sample = text if len(text) <= 2 * _SAMPLE else f"{text[:_SAMPLE]} {text[start : start + _SAMPLE]}"
    if sample.isascii() or not _ACCENTED.search(sample):
        letters = sample.encode("utf-8", "surrogatepass").translate(_LETTERS_ALONE)
        return _of_latin(letters.decode("utf-8", "surrogatepass").split())
    may_be_other = len(_NOT_LATIN.findall(sample)) > _FEW * len(sample) or _VIETNAMESE.search(sample)
    if may_be_other and (code := _by_script(sample)):
        return code
    return _of_latin(_word.findall(fold(sample)), is_accented=True)


def _by_script(sample: str) -> str:
    """Return the language of a text that is not in Latin letters, or in those of Vietnamese; "" for another."""
    words = _word.findall(fold(_LATIN_NAME.sub(" ", sample)))
    letters = "".join(words)
    points = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), np.uint32)
    letters_by_block = np.bincount(points >> _BLOCK)
    least_letters = _SHARE_OF_SCRIPT * len(letters)
    for script, (first, end) in _SCRIPTS.items():
        if letters_by_block[first:end].sum() > least_letters:
            return script if len(script) == len(ENGLISH) else _likeliest(_scored(script, words[:_SCORED]))
    if len(_VIETNAMESE.findall(letters)) > _VIETNAMESE_SHARE * len(letters):
        code = _likeliest(_scored("latin", words[:_SCORED]))
        return UNKNOWN if code == _CODE else code
    return UNKNOWN


def _of_latin(words: list[str], *, is_accented: bool = False) -> str:
    """Return the language of a text in Latin letters: the likeliest one, if the text shows that it is prose.

    It does so by stop words, by n-grams that are far likelier than in English and in code, or by accents.

    Args:
        words: of the text, folded.
        is_accented: whether a letter is not ASCII.
    """
    if len(words) < _LEAST_WORDS:
        return UNKNOWN
    scored_words = words[:: len(words) // _SCORED or 1]
    scores = _scored("latin", scored_words)
    code = _likeliest(scores)
    if scores[code] - max(scores[ENGLISH], scores[_CODE]) >= _SURE_LEAD * max(len(scored_words), _PROSE):
        return code
    english = sum(map(_ENGLISH_WORDS.__contains__, words)) / len(words)
    least_share = max(english, _LEAST_SHARE if is_accented else _LEAST_PLAIN_SHARE)
    if code in LANGUAGES:
        stops = list(filter((stop_words(code) - ENGLISH_STOP_WORDS).__contains__, words))
        least_words = min(1 + len(words) // _WORDS_FOR_ANOTHER, _MOST_DIFFERENT)
        if len(stops) >= least_share * len(words) and len(set(stops)) >= least_words:
            return code
    if is_accented and len(words) >= _PROSE and code != _CODE and english < _LEAST_SHARE:
        return code
    return ENGLISH if english >= _LEAST_SHARE or (is_accented and code == ENGLISH) else UNKNOWN


def _scored(script: str, words: list[str]) -> dict[str, float]:
    """Return the logarithm of the odds of each language of a script by the n-grams of words, but for a constant."""
    codes, table = _table(script)
    scores = add_rows(f"{' '.join(words)} ", table) / _UNITS
    return dict(zip(codes, scores.tolist(), strict=True))


def _likeliest(scores: dict[str, float]) -> str:
    return max(scores, key=scores.__getitem__)


@cache
def _table(script: str) -> tuple[list[str], NDArray[np.int8]]:
    """Return the languages of a script, and their table, shape (rows, languages)."""
    with np.load(TABLES) as tables:
        return tables[f"{script}_codes"].tolist(), tables[script]


LATIN: Final = tuple(
    code for code in LANGUAGES if code not in ("ar", "el", "fa", "hi", "hy", "ne", "ru", "ta", "vi", "yi")
)


@cache
def _languages_of_stop_words() -> dict[str, list[str]]:
    """Return the languages in which each word is a stop word."""
    languages: dict[str, list[str]] = {}
    for code in LATIN:
        for word in stop_words(code):
            if word not in ENGLISH_STOP_WORDS:  # "in" and "a" are words of many languages
                languages.setdefault(word, []).append(code)
    return languages


class QueryLanguage(NamedTuple):
    """The language of a query, as its stop words tell it.

    Attributes:
        code: of the language; "" where it is unknown.
        stops: the words of the query that are stop words of that language.
    """

    code: str = UNKNOWN
    stops: frozenset[str] = frozenset()


@lru_cache(maxsize=64)  # a query is read by its words, by its spelling, and for its note
def language_of_query(words: tuple[str, ...]) -> QueryLanguage:
    """Return the language of most stop words of a query: English on a tie, and another only from two of them on.

    A query of stop words alone has no language: nothing else would be left to search.
    """
    folded = {word: word.lower() if word.isascii() else fold(word) for word in words}
    distinct = set(folded.values())
    languages = _languages_of_stop_words()
    code, most_stops = UNKNOWN, 0
    if foreign := languages.keys() & distinct:
        counts = Counter(chain.from_iterable(map(languages.__getitem__, foreign)))
        code, most_stops = max(counts.items(), key=itemgetter(1))
    stops = ENGLISH_STOP_WORDS & distinct
    if len(stops) >= most_stops and not _ENGLISH_WORDS.isdisjoint(stops):
        code = ENGLISH
    elif len(stops) < most_stops >= _LEAST_STOP_WORDS:
        stops = stop_words(code) & distinct
    else:
        return QueryLanguage()
    if stops == distinct:
        return QueryLanguage()
    return QueryLanguage(code, frozenset([word for word in folded if folded[word] in stops]))
