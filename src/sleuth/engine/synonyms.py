"""Synonyms of the user's own: a file of words that stand for each other."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from sleuth.arguments import check_kind
from sleuth.errors import ArgumentError
from sleuth.text.words import WORD

SYNONYMS_FILE: Final = "synonyms.txt"
"""The file in an index folder that holds the synonyms of the index."""
MOST_LINES: Final = 20_000
MOST_BYTES: Final = 4 << 20
LONGEST: Final = 8
"""Words of a phrase at most."""

SynonymForm: TypeAlias = "Synonyms | Mapping[str, Sequence[str]] | str | Path"


class SynonymMatch(NamedTuple):
    """Words of a query, and the phrases that also stand for them."""

    phrase: str
    others: tuple[str, ...]


class Synonyms:
    """Which phrases stand for which others. Immutable.

    The file has one group a line. `k8s, kubernetes` are equal; `js => javascript, ecmascript` makes a search for the
    left side find the right side too, and not the other way. `#` begins a comment. Case does not count.
    """

    def __init__(self, others: Mapping[str, Sequence[str]]) -> None:
        """Synonyms of a mapping from each phrase to those that it also stands for.

        Raises:
            ArgumentError: a phrase without a word, or with more than eight.
        """
        self._others: dict[tuple[str, ...], tuple[str, ...]] = {}
        for phrase, alternatives in others.items():
            if isinstance(alternatives, str) or not all(isinstance(synonym, str) for synonym in alternatives):
                raise ArgumentError(
                    f"synonyms must map phrases to lists of phrases, got {alternatives!r} for {phrase!r}"
                )
            for synonym in (phrase, *alternatives):
                if not 0 < len(words_of(synonym)) <= LONGEST:
                    raise ArgumentError(f"synonyms must be phrases of 1 to {LONGEST} words, got {synonym!r}")
            key = tuple(words_of(phrase))
            phrases = dict.fromkeys(
                (*self._others.get(key, ()), *(" ".join(words_of(synonym)) for synonym in alternatives))
            )
            self._others[key] = tuple(synonym for synonym in phrases if synonym != " ".join(key))
        self._longest = max(map(len, self._others), default=0)

    @classmethod
    def parse(cls, text: str) -> Synonyms:
        """Return the synonyms of a file.

        Raises:
            ArgumentError: names the line and its rule.
        """
        lines = text.splitlines()
        if len(lines) > MOST_LINES:
            raise ArgumentError(f"synonyms must have at most {MOST_LINES:,} lines, got {len(lines):,}")
        synonyms: dict[str, list[str]] = {}
        for number, line in enumerate(lines, 1):
            content = line.partition("#")[0].strip()
            if not content:
                continue
            one_side, arrow, other_side = content.partition("=>")
            froms, tos = (
                [part.strip() for part in side.split(",") if part.strip()] for side in (one_side, other_side)
            )
            if arrow and froms and tos:
                pairs = [(phrase, tos) for phrase in froms]
            elif not arrow and len(froms) > 1:
                pairs = [(phrase, [synonym for synonym in froms if synonym != phrase]) for phrase in froms]
            else:
                rule = 'be as "k8s, kubernetes" or "js => javascript"'
                raise ArgumentError(f"line {number} of the synonyms must {rule}, got {line!r}")
            for phrase, alternatives in pairs:
                synonyms.setdefault(" ".join(words_of(phrase)) or phrase, []).extend(alternatives)
        return cls(synonyms)

    @classmethod
    def read(cls, path: str | Path) -> Synonyms:
        """Return the synonyms of a file.

        Raises:
            ArgumentError: a file that cannot be read, is too large or breaks a rule.
        """
        try:
            data = Path(path).read_bytes()
            if len(data) > MOST_BYTES:
                raise ArgumentError(f"synonyms must have at most {MOST_BYTES:,} bytes, got {len(data):,}")
            return cls.parse(data.decode("utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"synonyms must be a file of UTF-8, got {str(path)!r}: {error}") from error

    @classmethod
    def of_index(cls, folder: Path) -> Synonyms | None:
        """Return the synonyms that lie in an index folder; None without any."""
        path = folder / SYNONYMS_FILE
        return cls.read(path) if path.is_file() else None

    @classmethod
    def of(cls, value: Any) -> Synonyms | None:
        """Return the synonyms of an argument; None for none."""
        if value is None or isinstance(value, Synonyms):
            return value
        check_kind(value, Mapping | str | Path, "synonyms", "a file, a mapping or None")
        return cls(value) if isinstance(value, Mapping) else cls.read(value)

    def __len__(self) -> int:
        return len(self._others)

    def matches(self, words: Sequence[str]) -> Iterator[SynonymMatch]:
        """Yield the phrases among consecutive words that have synonyms, the longest at each place.

        Args:
            words: in small letters.
        """
        place = 0
        while place < len(words):
            for size in range(min(self._longest, len(words) - place), 0, -1):
                key = tuple(words[place : place + size])
                if key in self._others:
                    yield SynonymMatch(" ".join(key), self._others[key])
                    place += size - 1
                    break
            place += 1


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return WORD.findall(unicodedata.normalize("NFC", text).casefold())
