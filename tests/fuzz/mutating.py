"""Makes malformed inputs from sound ones, by mutations that break parsers."""

import random
from collections.abc import Callable, Sequence

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]

MARKS = (
    b"/*", b"a<", b"%w(", b"a|", b"(", b"{", b"[", b'"', b"'", b"`", b"<", b"</", b"<!--", b"<b a=1>", b"<p>",
    b"&amp", b"#",     b"# ", b"=\n", b"---\n", b"+++\n", b"```\n", b"~~~", b"|", b"- ", b"> ", b"*", b"_",
    b"\n", b"\n\n", b"\t", b" ", b"\r",     b"\f", b"\0", b"\x81", b"\xff\xfe", b"\xef\xbb\xbf",
    "\u202e".encode(), "\u0301".encode(), "中".encode(), "😀".encode(),     b"\xed\xa0\x80", b",", b";", b":",
    b"a: ", b"a.b.", b"&a ", b"*a", b"!!", b"[[", b"]]", b"{}", b"[]", b'{"a":', b"1e9", b"-",     b"\\",
    b"\\u", b"${", b"<<E\n", b"#if x\n", b"f(", b"=>", b"::", b"..", b"@", b"$", b"<?php ", b"0x", b"\\\n",
)  # fmt: skip
"""Openings, closings and signs that mean something to some parser."""
SIZES = (1, 3, 10, 100, 1_000)


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def flip(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Change bits of up to ten bytes."""
    mutant = bytearray(data or b"x")
    for _ in range(rng.randrange(1, 10)):
        mutant[rng.randrange(len(mutant))] ^= 1 << rng.randrange(8)
    return bytes(mutant)


def cut(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Leave out a part."""
    start, end = sorted((_place(data, rng), _place(data, rng)))
    return data[:start] + data[end:]


def truncate(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    return data[: _place(data, rng)]


def repeat(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Say a short part again and again."""
    start = _place(data, rng)
    part = data[start : start + rng.choice((1, 2, 5, 20, 100))]
    return data[:start] + part * rng.choice(SIZES) + data[start:]


def nest(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Repeat up to three marks somewhere, with or without words in between."""
    marks = [rng.choice(MARKS) for _ in range(rng.randrange(1, 4))]
    worded = rng.random() < 0.5
    parts = []
    for _ in range(rng.choice(SIZES)):
        parts += marks
        if worded:
            parts.append(b"%x" % rng.getrandbits(20))
    start = _place(data, rng)
    return data[:start] + b"".join(parts) + data[start:]


def insert(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Put marks at some places."""
    for _ in range(rng.randrange(1, 20)):
        start = _place(data, rng)
        data = data[:start] + rng.choice(MARKS) + data[start:]
    return data


def splice(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Go on as another input does."""
    other = rng.choice(corpus)
    return data[: _place(data, rng)] + other[_place(other, rng) :]


def encode(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Write the text in another encoding."""
    encoding = rng.choice(
        ("utf-16", "utf-16-be", "utf-32", "latin-1", "cp1251", "shift_jis", "gb18030", "utf-7")
    )
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def swap(data: bytes, rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Put lines in another order."""
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    flip, cut, truncate, repeat, nest, nest, insert, insert, splice, encode, swap,
)  # fmt: skip


def mutate(corpus: Sequence[bytes], rng: random.Random, most: int) -> bytes:
    """Return one of the corpus, changed one to four times, of at most so many bytes."""
    data = rng.choice(corpus)
    for _ in range(rng.randrange(1, 5)):
        data = rng.choice(MUTATIONS)(data, rng, corpus)[:most]
    return data
