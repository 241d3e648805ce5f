"""Fields of one language each: which rows feed them, and with which analyzer they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sleuth.store import Rows
from sleuth.store.legs.leg import Table
from sleuth.text.languages import ENGLISH, LANGUAGES, LANGUAGES_VERSION

_SIGN: Final = "@"


def is_language_field(name: str) -> bool:
    """Return whether a name is that of a field of a language: "text@de"."""
    _, sign, code = name.partition(_SIGN)
    return bool(sign) and code in LANGUAGES


def base_field(name: str) -> str:
    """Return the field that a field of a language belongs to; other fields belong to themselves."""
    return name.partition(_SIGN)[0]


def analyzer_of(name: str) -> str:
    """Return the analyzer of a field of a language; "" for other fields."""
    _, _, code = name.partition(_SIGN)
    return LANGUAGES[code].analyzer if code else ""


def field_language(name: str) -> str:
    """Return the language that the rows of a field have: English for fields of no language."""
    return name.partition(_SIGN)[2] or ENGLISH


def language_fingerprint() -> str:
    """Changes when the analyzer of any language does, or what a segment keeps of languages."""
    return f"@languages/{LANGUAGES_VERSION} of one length"


def languages_of(rows: Rows) -> list[str] | None:
    """Return the code of the language of each row, "" without an analyzer of its own; None if all are ""."""
    if isinstance(rows.metadata, Table):
        of_documents = rows.metadata.shared.get("language")
        codes = [of_documents[owner] for owner in rows.metadata.owners] if of_documents else []
    else:
        codes = [values.get("language") for values in rows.metadata]
    codes = [code if isinstance(code, str) and code in LANGUAGES else "" for code in codes]
    return codes if any(codes) else None


def separate(
    name: str, sources: Mapping[str, int], texts: Mapping[str, Sequence[str]], languages: Sequence[str] | None
) -> dict[str, Mapping[str, Sequence[str]]]:
    """Return by field the texts that feed it: those of a language feed a field of their own, as "" the others."""
    if languages is None:
        return {name: texts}
    columns = {source: texts[source] for source in sources if source in texts}
    return {
        f"{name}{_SIGN}{code}" if code else name: {
            source: [text if of == code else "" for text, of in zip(column, languages, strict=True)]
            for source, column in columns.items()
        }
        for code in sorted({"", *languages})
    }
