"""Languages that have an analyzer of their own: their stemmer, and how their letters are folded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sleuth.text.words import without_accents

ENGLISH: Final = "en"
UNKNOWN: Final = ""
LANGUAGES_VERSION: Final = 3
"""Raised when the terms of any language change: indexes are then analysed again."""


class LanguageRules(NamedTuple):
    """How words of a language become terms.

    Attributes:
        code: ISO 639-1.
        analyzer: name of its analyzer.
        stemmer: Snowball's algorithm, or "".
        before: folds a word before it is stemmed.
        after: folds a stem.
        keeps_suffix: whether a suffix after an apostrophe is a word; in Turkish it is an ending ("Ankara'nın").
    """

    code: str
    analyzer: str
    stemmer: str = ""
    before: Callable[[str], str] = str
    after: Callable[[str], str] = without_accents
    keeps_suffix: bool = True


_ARABIC_LETTERS: Final = str.maketrans(
    {"\u0640": None, "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"}
)
_PERSIAN_LETTERS: Final = str.maketrans(
    {"\u0640": None, "ي": "ی", "ى": "ی", "ك": "ک", "ۀ": "ه", "ة": "ه", "أ": "ا", "إ": "ا"}
)
_HINDI_LETTERS: Final = str.maketrans({
    "\u0901": "\u0902", "\u093c": None, "\u0945": "\u0947", "\u0949": "\u094b", "\u0972": "\u0905",
    "\u090d": "\u090f", "\u0911": "\u0913", "\u0958": "\u0915", "\u0959": "\u0916", "\u095a": "\u0917",
    "\u095b": "\u091c", "\u095c": "\u0921", "\u095d": "\u0922", "\u095e": "\u092b", "\u0929": "\u0928",
    "\u0931": "\u0930", "\u0934": "\u0933", "\u0946": "\u0947", "\u094a": "\u094b",
})  # fmt: skip
_hindi_nasal = re.compile("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])")
_marks = re.compile("[\u064b-\u065f\u0670]")


def _hindi(word: str) -> str:
    """Write nasals as anusvara, and letters with and without a dot below in one way."""
    return _hindi_nasal.sub("\u0902", word.translate(_HINDI_LETTERS))


def _greek(word: str) -> str:
    """Drop accents: "Άνθρωπος" is "ανθρωπος"."""
    plain = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in plain if unicodedata.category(c) != "Mn"))


def _language(code: str, name: str, **rules: Any) -> LanguageRules:
    return LanguageRules(code, name, name, **rules)


LANGUAGES: Final = {
    language.code: language
    for language in (
        _language(
            "ar",
            "arabic",
            before=lambda word: _marks.sub("", word).replace("\u0640", ""),
            after=lambda word: without_accents(_marks.sub("", word)).translate(_ARABIC_LETTERS),
        ),
        _language("ca", "catalan"),
        _language("cs", "czech"),
        _language("da", "danish"),
        _language("de", "german"),
        _language("el", "greek", after=_greek),
        _language("eo", "esperanto"),
        _language("es", "spanish"),
        _language("et", "estonian"),
        _language("eu", "basque"),
        _language("fa", "persian", before=lambda word: _marks.sub("", word).translate(_PERSIAN_LETTERS)),
        _language("fi", "finnish"),
        _language("fr", "french"),
        _language("ga", "irish"),
        _language("hi", "hindi", before=_hindi),
        _language("hu", "hungarian"),
        _language("hy", "armenian"),
        _language("id", "indonesian"),
        _language("it", "italian"),
        _language("lt", "lithuanian"),
        _language("ne", "nepali", before=_hindi),
        _language("nl", "dutch"),
        _language("no", "norwegian"),
        _language("pl", "polish"),
        _language("pt", "portuguese"),
        _language("ro", "romanian"),
        _language("ru", "russian", before=lambda word: word.replace("ё", "е")),
        _language("sr", "serbian"),
        _language("st", "sesotho"),
        _language("sv", "swedish"),
        _language("ta", "tamil"),
        _language(
            "tr",
            "turkish",
            before=lambda word: word.replace("i\u0307", "i"),  # the dot that lower case leaves of "İ"
            keeps_suffix=False,
        ),
        _language("yi", "yiddish"),
        LanguageRules("vi", "vietnamese", after=str),  # its accents tell words apart
    )
}
"""By code; English is the default of an index and stands apart."""
