"""The embedder that needs no download: the table of WordLlama, read without its code.

WordLlama's wheel carries a table of 32,000 token vectors of 256 dimensions, trained so that the mean over a
text's tokens says what it is about. We read that table and its vocabulary from the installed package,
without importing it: its import configures the root logger and takes 0.3 s, its loading as long again, and a
command line would pay for both on each call. The vectors are its own of the text as `legible` reads it (a test
compares them), ten times as fast.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.dense.embedding import Reading
from sleuth.dense.wordpieces import Vocabulary
from sleuth.errors import LoadError, MissingPackageError
from sleuth.text.spelling import spellings_near

_SOFT_HYPHEN: Final = "\u00ad"
_LINE_END: Final = "(?<=[^\\W\\d_].)\r?\n[ \t]*(?=[^\\W\\d_])"
_LINE_ENDS: Final = {"-": re.compile(f"-{_LINE_END}"), "\u2010": re.compile(f"\u2010{_LINE_END}")}
"""A hyphen between letters at a line end, with the blanks that begin the next line."""
VOCABULARY = "tokenizers/l2_supercat_tokenizer_config.json"
WEIGHTS = "weights/l2_supercat_256.safetensors"

TOKENS = 32_000
"""Of the vocabulary; a row of the table for each."""
MOST_TOKENS = 512
"""Of a text that are kept, or compared with others; the vector is of all."""


_SPACE: Final = "\u2581".encode()
"""Stands for a space in the published vocabulary."""
_FIRST_BYTE, _FIRST_TEXT = 3, 259
"""The tokens between stand for one byte each, of letters that have no token."""
_LONGEST_PIECE: Final = 2
"""Most letters of a token that counts as a piece of an unknown word."""
_INNER_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where the next part of a name begins with a capital."""
_GIBBERISH_SHARE = 0.5
"""Share of pieces above which a query is gibberish."""
_LONGEST_WORD = 40
"""Letters of the longest word that may be mistyped: the number of spellings that are tried grows with its length."""
_PIECES, _FEWER_PIECES = 3, 2
"""Tokens of a word that may be mistyped, and by how many fewer the word has that was meant."""
_KNOWN_SHARE, _UNKNOWN_SHARE = 0.6, 0.8
"""Shares of pieces up to which the vectors count in full, and from which on not at all (docs/concepts/languages.md)."""


class Model(NamedTuple):
    """The bundled vocabulary and token vectors.

    Attributes:
        table: shape (32000, 256), memory-mapped.
        halves: its bits, as kernels read them.
        tokens: in UTF-8, by id.
        lengths: of the vectors, shape (32000,); 0 where matching has not met a token yet.
    """

    vocabulary: Vocabulary
    table: NDArray[np.float16]
    halves: NDArray[np.uint16]
    tokens: list[bytes]
    lengths: NDArray[np.float32]


class WordLlamaEmbedder:
    """Means of static token vectors, scaled to length 1. Loads on first use; safe to share.

    The default embedder of a new index, where the extra `hybrid` is installed.

    Texts are read as `legible` says, without their case. A text without tokens has the zero vector. Control tokens
    written in a text ("<s>") are read as text.
    """

    fingerprint = "wordllama/l2_supercat_256/unit/folded"
    dimension = 256
    cheap = True
    unrelated = 0.25
    """Cosine that texts without anything in common rarely reach (table: search.md at 885da4c9)."""
    code_weight = 0.001
    """Of its ranks beside those of words in code search (table: code.md at 885da4c9)."""
    token_weight = 0.3
    """Measured over all test collections (table: quality.md at 885da4c9)."""

    def knowledge(self, query: str) -> float:
        """Return how well the vocabulary knows the words of a query, 0 to 1.

        A language that it does not know falls into pieces of one or two letters: over questions of XQuAD .09 of the
        letters in English, .56 in Turkish, .84 in Vietnamese, and all of them in Arabic, Hindi and Thai.
        """
        if query.isascii():
            return 1.0
        share = share_of_pieces(query)
        return min(max((_UNKNOWN_SHARE - share) / (_UNKNOWN_SHARE - _KNOWN_SHARE), 0.0), 1.0)

    def has_meaning(self, query: str) -> bool:
        """Return whether a query holds words; gibberish falls into pieces of one or two letters.

        Such pieces hold more than half of the letters in 98 of 100 queries of random letters or neighbouring keys, and
        in 1 of 300 queries of test collections, 1 of 20 where these are full of abbreviations
        (`unrelated.py` at 885da4c9). Words in pieces, such as "puppies", are judged by their letters.
        """
        return share_of_pieces(query) <= _GIBBERISH_SHARE or _letter_model().reads_like_words(query)

    def knows(self, word: str) -> bool:
        """Return whether the vocabulary has a word whole or in two pieces; others are rare or mistyped."""
        return len(load_model().vocabulary.encode(legible(word))) < _PIECES

    def is_mistyped(self, word: str) -> bool:
        """Return whether a word in pieces is one letter away from one that the vocabulary knows far better.

        "negotiatinng" has five pieces, "negotiating" two. This finds 21 of 60 words with a typing mistake, and one word
        in 300 questions without any (docs/measured/answers.md). A word of more than 40 letters is none.
        """
        if len(word) > _LONGEST_WORD:
            return False
        encode = load_model().vocabulary.encode
        pieces = len(encode(legible(word)))
        return pieces >= _PIECES and any(
            len(encode(legible(spelling))) <= pieces - _FEWER_PIECES
            for spelling in spellings_near(word.lower(), ascii_lowercase)
        )

    def salience(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return how much each word says, shape (len(words),): the length of its longest token vector.

        The model learnt it with the mean: "the" has 2, "kind" 7, "first" 10, "king" 17, in any corpus.
        """
        vocabulary, table, *_ = load_model()
        tokens = [vocabulary.encode(legible(word)) for word in words]
        lengths = [np.linalg.norm(table[ids].astype(np.float32), axis=1).max(initial=0.0) for ids in tokens]
        return np.array(lengths, np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return one vector, shape (256,)."""
        vocabulary, _, halves, *_ = load_model()
        return vocabulary.embed(legible_query(text), halves)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, shape (len(texts), 256). Releases the GIL for most of its work."""
        return self._read(texts, 0).vectors

    def read(self, texts: Sequence[str]) -> Reading:
        """Vectors and tokens, for the price of vectors. Releases the GIL for most of its work."""
        return self._read(texts, MOST_TOKENS)

    def _read(self, texts: Sequence[str], most: int) -> Reading:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        if not len(texts):
            return Reading(vectors, np.zeros(0, np.uint8), np.zeros(0, np.uint16))
        model = load_model()
        columns = model.vocabulary.read(list(map(legible_or_plain, texts)), most, model.halves, vectors)
        return Reading(vectors, *columns)


class CodeEmbedder(WordLlamaEmbedder):
    """The default embedder of code, where capitals divide names: `getUserName` is read as "get user name"."""

    fingerprint = f"{WordLlamaEmbedder.fingerprint}/names"

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return one vector, shape (256,)."""
        return super().embed_query(_INNER_CAPITAL.sub(" ", text))

    def _read(self, texts: Sequence[str], most: int) -> Reading:
        return super()._read([_INNER_CAPITAL.sub(" ", text) for text in texts], most)


def has_wordllama() -> bool:
    """Return whether the wheel of WordLlama is installed."""
    return find_spec("wordllama") is not None


def missing_wordllama() -> MissingPackageError:
    """Return the error that names the extra with WordLlama."""
    return MissingPackageError("wordllama", "hybrid", "The default embedder")


@cache
def load_model() -> Model:
    """Load what the wheel of WordLlama carries; raises MissingPackageError where that is not installed."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise missing_wordllama()
    folder = Path(spec.submodule_search_locations[0])
    table = read_table(folder / WEIGHTS)
    tokens = read_vocabulary(folder / VOCABULARY)
    return Model(Vocabulary(tokens), table, table.view(np.uint16), tokens, np.zeros(len(table), np.float32))


def is_gibberish(query: str) -> bool:
    """Return whether a query in Latin letters holds what is no word, for embedders that do not tell.

    Without the wheel of WordLlama, and in other scripts, nothing counts as gibberish.
    """
    if not query.isascii() or not has_wordllama():
        return False
    return share_of_pieces(query) > _GIBBERISH_SHARE and _letter_model().is_unlikely(query)


@cache
def _letter_model() -> LetterModel:
    return LetterModel(load_model().tokens)


def share_of_pieces(text: str) -> float:
    """Return which share of the letters of a text stand in tokens of one or two, and are no words of their own."""
    tokens = [_letters_of(id) for id in load_model().vocabulary.encode(legible(text)).tolist()]
    ends = [*(starts for _, starts in tokens[1:]), True]
    pieces = (
        letters
        for (letters, starts), ends_word in zip(tokens, ends, strict=False)
        if letters <= _LONGEST_PIECE and not (starts and ends_word)
    )
    return sum(pieces) / (sum(letters for letters, _ in tokens) or 1)


@cache
def _letters_of(id: int) -> tuple[int, bool]:
    """Return how many letters a token has, and whether it begins a word."""
    text = load_model().tokens[id].decode("utf-8", "replace")
    bare = text.strip(" ")
    is_byte = _FIRST_BYTE <= id < _FIRST_TEXT
    is_word_sign = "\u3041" <= bare[:1] <= "\u9fff"
    # A token of kana or Chinese characters is a word: it counts as longer than a piece.
    letters = 1 if is_byte else _LONGEST_PIECE + 1 if is_word_sign else len(bare)
    return letters, text.startswith(" ")


def read_vocabulary(path: Path) -> list[bytes]:
    """Return the tokens of a Hugging Face tokenizer file, in order of id, with spaces for "\u2581"."""
    data = path.read_bytes()
    try:  # a third of the file, found without parsing the merges
        start = data.index(b"{", data.index(b'"vocab":'))
        text = data[start : data.index(b'"merges":', start)].rstrip().removesuffix(b",")
        ids: dict[str, int] = json.loads(text.replace(_SPACE, b" "))
    except ValueError as error:
        raise LoadError(str(path), f"no vocabulary in it ({error})") from error
    if list(ids.values()) != list(range(len(ids))):
        raise LoadError(str(path), "its vocabulary is not in order of id")
    return [token.encode() for token in ids]


def read_table(path: Path) -> NDArray[np.float16]:
    """Return the one float16 matrix of a safetensors file, memory-mapped.

    The format is 8 bytes of length, little-endian, that many of JSON, then the tensors.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise LoadError(str(path), "its header is longer than the file")
        header = json.loads(file.read(length))
    tensor = header["embedding.weight"]
    if tensor["dtype"] != "F16":
        raise LoadError(str(path), f"its vectors are {tensor['dtype']}, not F16")
    start, _ = tensor["data_offsets"]
    return np.asarray(
        np.memmap(path, np.float16, mode="r", offset=8 + length + start, shape=tuple(tensor["shape"]))
    )


def legible(text: str) -> bytes:
    """Return a text in UTF-8 as the embedder reads it, which is the same in capitals and in small letters.

    Case is folded, which also writes ligatures as their letters. A word broken by a hyphen at a line end is one word,
    and a letter with an accent one character. Soft hyphens are dropped.
    """
    is_ascii = text.isascii()
    text = (
        text.lower() if is_ascii else unicodedata.normalize("NFC", text.casefold()).replace(_SOFT_HYPHEN, "")
    )
    for hyphen, pattern in _LINE_ENDS.items():
        if f"{hyphen}\n" in text or f"{hyphen}\r\n" in text:
            text = pattern.sub("", text)
    return text.encode("utf-8", "replace")  # a lone surrogate has no UTF-8


def legible_or_plain(text: str) -> bytes | str:
    """Return `legible` of a text, or the text where only its capitals differ, which `Vocabulary.read` makes small."""
    is_broken = "-\n" in text or ("\r" in text and "-\r\n" in text)  # one sign is found faster than three
    return text if text.isascii() and not is_broken else legible(text)


@lru_cache(maxsize=16)
def legible_query(query: str) -> bytes:
    """Return `legible` of a query, which is read for its vector and then for its tokens."""
    return legible(query)


_WORD: Final = re.compile(rb"[a-z]{3,}")
_START: Final = b" "
_RARE: Final = 0.1
"""Added to the number of times that three letters stand together."""
_LIKELY, _UNLIKELY = -3.4, -3.9
"""Mean log-probability of letters: above the first it reads like a word, below the second it does not."""
_MOST_SIGNS: Final = 0.25
"""Share of a text that may be digits and signs."""


class LetterModel:
    """How likely each letter is after the two before it, in the words of a vocabulary of word pieces."""

    def __init__(self, tokens: Sequence[bytes]) -> None:
        """Count the letters of the tokens that begin a word."""
        words = [token.removeprefix(_START) for token in tokens if token.startswith(_START)]
        places = _places(b"```".join(word for word in words if _WORD.fullmatch(word)))
        inside = (places[1:-1] > 0) | (places[2:] > 0)  # not from one word into the next
        counts = np.bincount(_triples(places)[inside], minlength=27**3) + _RARE
        table = counts.reshape(27, 27, 27)
        self._logs: NDArray[np.float64] = np.log(table / table.sum(axis=2, keepdims=True)).ravel()

    def reads_like_words(self, text: str) -> bool:
        """Return whether all words of a text in Latin letters read like words, and it holds little else."""
        letters = text.lower().encode("utf-8", "replace")
        signs = sum(not (97 <= byte <= 122 or byte == 32) for byte in letters)
        words = _WORD.findall(letters)
        if not words or signs > _MOST_SIGNS * len(letters):
            return False
        return all(self._likelihood(word) > _LIKELY for word in words)

    def is_unlikely(self, text: str) -> bool:
        """Return whether a word of four letters or more is most unlikely in any language of the vocabulary."""
        words = _WORD.findall(text.lower().encode("utf-8", "replace"))
        return any(len(word) > 3 and self._likelihood(word) < _UNLIKELY for word in words)

    def _likelihood(self, word: bytes) -> float:
        return float(self._logs[_triples(_places(word))].mean())


def _places(word: bytes) -> NDArray[np.int64]:
    """Return the letters of a word as numbers, 0 for its edges and for "`", shape (letters + 3,)."""
    return np.concatenate([(0, 0), np.frombuffer(word, np.uint8) - 96, (0,)]).astype(np.int64)


def _triples(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each three neighbours, shape (len(places) - 2,)."""
    return places[:-2] * 729 + places[1:-1] * 27 + places[2:]
