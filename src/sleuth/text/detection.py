"""The language of a text: by its script and its commonest words, and where those do not decide, by py3langid."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Final, NamedTuple

from sleuth.text.languages import ENGLISH, LANGUAGES, UNKNOWN
from sleuth.text.stopwords import ENGLISH as ENGLISH_STOP_WORDS
from sleuth.text.stopwords import stop_words
from sleuth.text.words import fold

_SAMPLE: Final = 800
"""Characters that are looked at: of the start, and of the middle of a longer text."""
_CLASSIFIED: Final = 250
"""Characters that py3langid is given: it takes 4 µs for each byte."""
_LEAST_WORDS: Final = 5
"""Only the script decides on a shorter text, since a name looks like any language."""
_PROSE: Final = 12
"""Words from which on a language without stop words is believed."""
_HEAD: Final = 400
"""Characters of the start in which English is looked for first: most texts are decided there, at 5 µs each."""
_ENGLISH_WORDS: Final = frozenset(
    "the and of to that this with from which is were for by it its we can how".split()  # noqa: SIM905
)
_ENGLISH_SHARE: Final = 0.1
_LONG_WORD: Final = 12
_LEAST_SHARE: Final = 0.05
_LEAST_PLAIN_SHARE: Final = 0.1
"""The same for texts without accents: code and tables hold a few short words of every language."""
_SURE_SHARE: Final = 0.12
_SURE_LEAD: Final = 1.6
"""Shares of stop words among all words. Prose has .15 to .45 of its own language, and under .06 of most others."""
_WORDS_FOR_ANOTHER: Final = 15
_MOST_DIFFERENT: Final = 3
"""A text holds a stop word of its language, and another for each so many words, up to this many: code and tables repeat
one or two ("op" is a word of Dutch, "os" of Portuguese, and "li" of Esperanto and of HTML)."""

_LEAST_STOP_WORDS: Final = 2
"""Different stop words that make a query one of a language other than English."""

_SCRIPTS: Final = {
    "ja": "[\u3041-\u30ff]",
    "ko": "[\uac00-\ud7a3]",
    "zh": "[\u3400-\u9fff]",
    "th": "[\u0e00-\u0e7f]",
    "el": "[\u0370-\u03ff\u1f00-\u1fff]",
    "hy": "[\u0530-\u058f]",
    "ta": "[\u0b80-\u0bff]",
    "ka": "[\u10a0-\u10ff]",
}
"""Patterns that are compiled when a text is not Latin: a search of English starts 3 ms earlier."""
_SHARE_OF_SCRIPT: Final = 0.3
_LATIN_NAME: Final = re.compile(r"(?<![^\W\d_])[A-Z][A-Za-z\u00c0-\u024f\u1e00-\u1eff]*")
"""A word that begins with a capital: texts in other scripts name teams and companies in Latin letters."""
_NOT_LATIN: Final = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_ACCENTED: Final = re.compile(r"[^\W\d_\u0000-\u007f]")
_FEW: Final = 0.05
"""Up to this share of non-Latin letters among all characters, scripts are not examined: most texts are Latin."""
_VIETNAMESE: Final = re.compile("[\u0111\u01a1\u01b0\u1ea0-\u1ef9]")
_VIETNAMESE_SHARE: Final = 0.05
_SHARED_SCRIPTS: Final = {
    "ru": ("[\u0400-\u052f]", "[^\u0401\u0410-\u044f\u0451]", "[ыэЫЭ]"),
    "ar": ("[\u0600-\u06ff]", "[^\u0621-\u0652\u0670]", "[ةىإأ]"),
}
"""By language: its script, letters of that script that it does not have, and letters that few others have."""
_DEVANAGARI: Final = re.compile("[\u0900-\u097f]")
_MACROLANGUAGES: Final = {
    "nb": "no", "nn": "no", "ary": "ar", "arz": "ar", "apc": "ar", "wuu": "zh", "yue": "zh", "srl": "sr", "pes": "fa",
}  # fmt: skip

_word = re.compile(r"[^\W\d_]+(?:[\u0900-\u0dff]+[^\W\d_]*)*")
_LETTERS_ALONE: Final = {  # for texts without accents: a third of the time that `_word` takes
    code: " " for code in range(128) if not chr(code).isalpha()
}


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the language of a text; "" where the text is too short or too mixed to tell."""
    if _is_english(text[:_HEAD]):
        return ENGLISH
    start = (len(text) - _SAMPLE) // 2  # of the middle
    sample = text if len(text) <= 2 * _SAMPLE else f"{text[:_SAMPLE]} {text[start : start + _SAMPLE]}"
    if sample.isascii() or not _ACCENTED.search(sample):
        return _by_words(sample, sample.lower().translate(_LETTERS_ALONE).split(), LATIN)
    if len(_NOT_LATIN.findall(sample)) > _FEW * len(sample) or _VIETNAMESE.search(sample):
        letters = "".join(_word.findall(_LATIN_NAME.sub(" ", sample)))
        code = _by_script(letters) or _by_shared_script(sample, letters)
        if code:
            return code
    return _by_words(sample, _word.findall(fold(sample)), LATIN, is_accented=True)


def _by_script(letters: str) -> str:
    """Return the language whose own letters a text is written in; "" for letters of several languages."""
    least_letters = _SHARE_OF_SCRIPT * len(letters)
    for code, script in _SCRIPTS.items():
        if len(re.findall(script, letters)) > least_letters:
            return code
    return "vi" if len(_VIETNAMESE.findall(letters)) > _VIETNAMESE_SHARE * len(letters) else UNKNOWN


def _by_shared_script(sample: str, letters: str) -> str:
    """Return the language of a text in a script that several languages share; "" for Latin letters."""
    least_letters = _SHARE_OF_SCRIPT * len(letters)
    for code, (script, foreign, own_letters) in _SHARED_SCRIPTS.items():
        letters_of_script = "".join(re.findall(script, letters))
        if len(letters_of_script) > least_letters:
            return (
                code
                if re.search(own_letters, letters_of_script) and not re.search(foreign, letters_of_script)
                else _classified(sample)
            )
    if len(_DEVANAGARI.findall(letters)) > least_letters:
        return _by_words(sample, _word.findall(fold(sample)), ("hi", "ne"), is_accented=True)
    return _classified(sample) if sum(letter > "\u024f" for letter in letters) > least_letters else UNKNOWN


LATIN: Final = tuple(
    code for code in LANGUAGES if code not in ("ar", "el", "fa", "hi", "hy", "ne", "ru", "ta", "vi", "yi")
)


def _is_english(head: str) -> bool:
    words = head.lower().split()
    if len(words) < max(_LEAST_WORDS, len(head) / _LONG_WORD):  # scripts without spaces seem to have few
        return False
    return sum(map(_ENGLISH_WORDS.__contains__, words)) >= _ENGLISH_SHARE * len(words)


def _by_words(sample: str, words: Sequence[str], codes: tuple[str, ...], *, is_accented: bool = False) -> str:
    """Return the language whose stop words a text holds; py3langid decides between two that are close."""
    if len(words) < _LEAST_WORDS:
        return UNKNOWN
    stops = list(filter(_languages_of(codes).__contains__, words))
    english = sum(map(_ENGLISH_WORDS.__contains__, words)) / len(words)
    if english >= max(len(stops) / len(words), _LEAST_SHARE):  # no other language can have more
        return ENGLISH
    shares = _shares(stops, len(words), codes)
    best, second = (*sorted(shares.values(), reverse=True), 0.0, 0.0)[:2]
    if english >= max(best, _LEAST_SHARE):
        return ENGLISH
    if best < _LEAST_PLAIN_SHARE and not is_accented:
        return UNKNOWN
    if best >= _SURE_SHARE and best >= _SURE_LEAD * max(second, english):
        return max(shares, key=shares.__getitem__)
    code = _classified(sample)
    # Names and keywords look like any language to py3langid: the text must show what it says.
    is_shown = code in LANGUAGES and shares.get(code, 0.0) >= _LEAST_SHARE
    is_plausible = code == ENGLISH or is_shown or (is_accented and len(words) >= _PROSE)
    return code if is_plausible else UNKNOWN


@cache
def _languages_of(codes: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the languages in which each word is a stop word."""
    languages: dict[str, list[str]] = {}
    for code in codes:
        for word in stop_words(code):
            if word not in ENGLISH_STOP_WORDS:  # "in" and "a" are words of many languages
                languages.setdefault(word, []).append(code)
    return languages


def _shares(stops: Sequence[str], words: int, codes: tuple[str, ...]) -> dict[str, float]:
    """Return, for each language, the share of the words of a text that are its stop words.

    Languages with fewer distinct stop words in the text than its length demands are left out.

    Args:
        stops: those of the words that are stop words of some language.
        words: how many the text has.
    """
    languages = _languages_of(codes)
    totals = Counter(chain.from_iterable(map(languages.__getitem__, stops)))
    different = Counter(chain.from_iterable(map(languages.__getitem__, set(stops))))
    least_words = min(1 + words // _WORDS_FOR_ANOTHER, _MOST_DIFFERENT)
    return {code: times / words for code, times in totals.items() if different[code] >= least_words}


class QueryLanguage(NamedTuple):
    """The language of a query, as its stop words tell it.

    Attributes:
        code: of the language; "" where it is unknown.
        stops: the words of the query that are stop words of that language.
    """

    code: str = UNKNOWN
    stops: frozenset[str] = frozenset()


def language_of_query(words: Iterable[str]) -> QueryLanguage:
    """Return the language of most stop words of a query: English on a tie, and another only from two of them on.

    A query of stop words alone has no language: nothing else would be left to search.
    """
    folded = {word: word.lower() if word.isascii() else fold(word) for word in words}
    distinct = set(folded.values())
    languages = _languages_of(LATIN)
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


_loading = threading.Lock()


def _classified(sample: str) -> str:
    """Return the language that py3langid's model names; loading it takes half a second, once."""
    from sleuth.text.langid import language_model

    with _loading:
        model = language_model()
    code = model.classify(sample[:_CLASSIFIED])
    return _MACROLANGUAGES.get(code, code)
