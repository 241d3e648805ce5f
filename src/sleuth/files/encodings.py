"""Decodes bytes: by a byte order mark, as UTF-8, by the encoding that the file declares, or by a guess."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from contextlib import suppress
from typing import Final

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE: Final = 64 << 10
_GUESSED: Final = [
    *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))), "iso8859_2", "iso8859_5", "iso8859_7",
    "koi8_r", "koi8_u", "euc_jp", "gb18030", "big5hkscs",
]  # fmt: skip
"""The common ones that browsers decode. UTF-16 is told by a mark or by NULs: any even number of bytes is text in it."""
_ALPHABETS: Final = {
    "cp1252": (
        "éèàêâîûôçùëïüœæÿ", "üäöß", "óáíúéñü", "ãçáíéúõóêâºàôªü", "èàùòéìíóîº", "äöåé", "æøåéöäü", "ðáíæóöþúýé",
        "éëïóèáöüíúçê", "óàéíèçòúïüáª",
    ),
    "cp1250": ("łżśęąćóńź", "íářčžéýěšůúňóťď", "áýíčéúťžľšóôňäĺďŕř", "áéíóöőüúű", "čšćžđ", "ăţşîâ", "ëç"),
    "cp1254": ("ışçüğöâîû\u0307",),
    "cp1257": ("āēīšņļūķžģč", "šėųįąžūčę", "äõüöšž"),
    "iso8859_2": ("łżśęąćóńź", "íářčžéýěšůúňóťď", "áýíčéúťžľšóôňäĺďŕř"),
}  # fmt: skip
"""Letters beyond ASCII of the languages that each encoding is used for, one language each; the commonest come first."""
_UNUSUAL: Final = {"cp1252": 0, "cp1250": 8, "cp1254": 8, "cp1257": 8, "iso8859_2": 12}
"""What an encoding must be better by than cp1252, in places of `_ALPHABETS`: with 6, Icelandic is taken for Turkish."""
_MARKS: Final = frozenset("‘’“”„‚–—…•€£§©®™°·´«»¡¿²³½×\xa0\xad")
_UNWESTERN: Final = re.compile(
    r"(?<=[^\W\d_])[³¿þ](?=[^\W\d_])|[ªº](?=[a-z])|õ(?!e)|ã(?=[^\W_eimosz])|è(?=[aeiouy])|ç(?=[b-gi-np-tv-z])"
    r"|ñ(?![aeiouáéíóú])|ì(?=[^\W\d_])|[âî](?![^\W\d_])|(?<![^\W\d_])ð|(?<=[aeiou])æ|(?<=[b-df-hj-np-tv-xz])[ëÿ]"
)
"""What no word of the languages of cp1252 has: texts of other encodings that are read in it have it often."""
_SNIFF: Final = 8 << 10


def marked_encoding(data: bytes) -> str | None:
    """Return the encoding that a byte order mark names."""
    if data[:1] not in (b"\xef", b"\xff", b"\xfe", b"\0"):
        return None
    return next((name for bom, name in _BOMS if data.startswith(bom)), None)


def is_binary(data: bytes) -> bool:
    """Return whether the first 8 KiB hold a NUL and are not UTF-16 or UTF-32: git's test, made aware of wide text."""
    head = data[:_SNIFF]
    return b"\0" in head and marked_encoding(head) is None and _wide_encoding(head) is None


def _wide_encoding(head: bytes) -> str | None:
    """Detect UTF-16 without a mark: every other byte of mostly Latin text is NUL."""
    even, odd = head[0::2], head[1::2]
    even_zeros, odd_zeros = even.count(0), odd.count(0)
    fewest_zeros, most_zeros = sorted((even_zeros, odd_zeros))
    if len(head) < 4 or most_zeros < 0.6 * len(odd) or fewest_zeros > 0.05 * len(odd):
        return None  # in wide text one half is mostly NUL, the other hardly ever
    return "utf-16-be" if even_zeros > odd_zeros else "utf-16-le"


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """Return the text, with "\
" as its only line end, and the encoding it was read in.

    In this order: a byte order mark, UTF-8, UTF-16 without a mark, the encoding that the file declares, a guess from
    64 KiB (by the letters of languages in Latin script, else by charset-normalizer), Latin-1, which accepts any bytes.
    A few damaged bytes do not rule out UTF-8: they become U+FFFD and the encoding is "utf-8 (damaged)".
    """
    text, encoding = _decode(data, declared)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, encoding


def _decode(data: bytes, declared: str | None) -> tuple[str, str]:
    head = data[:_SNIFF]
    encoding = marked_encoding(data) or (_wide_encoding(head) if b"\0" in head else None)
    if encoding:
        text, name = data.decode(encoding, "replace"), encoding.removesuffix("-sig")
        return text, f"{name} (damaged)" if "\ufffd" in text else name
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        damage_at = error.start
    for name in _declared_codecs(declared) if declared else ():
        with suppress(LookupError, ValueError):  # of which UnicodeDecodeError is one
            return data.decode(name), name
    damaged = data.decode("utf-8", "replace")
    if _mostly_read(damaged):
        return damaged, "utf-8 (damaged)"
    start = max(0, damage_at - _SAMPLE // 2)
    sample = data[start : start + _SAMPLE]
    guess = _latin(sample)
    if guess is None:
        from charset_normalizer import from_bytes

        best = from_bytes(sample, cp_isolation=_GUESSED).best()
        guess = best.encoding if best else None
    if guess:
        text = data.decode(guess, "replace")
        if _mostly_read(text):
            return text, f"{guess} (damaged)" if "\ufffd" in text else guess
    return data.decode("latin-1"), "latin-1 (guessed)"


def _declared_codecs(label: str) -> tuple[str, ...]:
    """Return the codecs that browsers use for a declared encoding: often a larger one that replaces it.

    A label in ASCII bytes that names UTF-16 is wrong. Labels that the Encoding Standard does not list give no codec.
    """
    from webencodings import lookup

    encoding = lookup(label)
    if encoding is None or encoding.name.startswith("utf-16"):
        return ()
    # GBK is decoded as gb18030. Bytes that windows-1252 does not define are decoded as Latin-1.
    codec = {"gbk": "gb18030"}.get(encoding.name, encoding.codec_info.name)
    return (codec, "latin-1") if codec == "cp1252" else (codec,)


def _mostly_read(text: str) -> bool:
    """Return whether at most one in twenty of the characters beyond ASCII is a replacement character."""
    wrong = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return wrong * 20 <= beyond_ascii


def _latin(sample: bytes) -> str | None:
    """Return the encoding whose text fits one language best: over 9 in 10 characters beyond ASCII are its letters.

    Among these, one with many common letters of the text and no others. None where most characters are beyond ASCII:
    the text is in another script.
    """
    costs: dict[str, int] = {}
    if 2 * len(sample.decode("ascii", "ignore")) < len(sample):
        return None
    for encoding, alphabets in _ALPHABETS.items():
        text = sample.decode(encoding, "replace").lower()
        signs = Counter(sign for sign in text if sign > "\x7f" and sign not in _MARKS)
        strange = len(_UNWESTERN.findall(text)) if encoding == "cp1252" else 0
        for alphabet in alphabets:
            others = signs.total() - sum(signs[letter] for letter in alphabet)
            if 10 * others < (signs.total() or encoding == "cp1252"):
                rarity = sum(rank * signs[letter] for rank, letter in enumerate(alphabet))
                cost = rarity + 20 * (others + strange) + _UNUSUAL[encoding]
                costs[encoding] = min(cost, costs.get(encoding, cost))
    return min(costs, key=costs.__getitem__, default=None)
