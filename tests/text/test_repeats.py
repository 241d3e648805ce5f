"""Texts that repeat earlier ones."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.text.repeats import Repeats

WORDS = [f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in "lmnrst"]


def prose(seed: int, count: int) -> list[str]:
    """Return random words, others for each seed."""
    rng = random.Random(seed)
    return [f"{rng.choice(WORDS)}{rng.choice(WORDS)}" for _ in range(count)]


def places(*texts: str) -> list[int | None]:
    """Return what `Repeats.add` says of each text."""
    repeats = Repeats()
    return [repeats.add(text) for text in texts]


FIRST, SECOND, NEW = prose(1, 100), prose(2, 60), prose(3, 200)
ROW = "city Paris year 2019 population two million people and more"
CHINESE = "令牌桶每秒补充一次令牌，桶满时多余的令牌会被丢弃，请求在没有令牌时等待。"
LONG = " ".join(prose(4, 4_096))
CASES: dict[str, tuple[list[list[str] | str], list[int | None]]] = {
    "case, spaces and marks of another form do not count": (
        [FIRST, SECOND, "\u201c" + "\u00a0* ".join(FIRST).upper() + "\u201d\u2026"], [None, None, 0],
    ),
    "parts that stand in two others repeat the one that holds more": ([FIRST, SECOND, FIRST + SECOND], [None, None, 0]),
    "half of a text is too little": ([FIRST[:50], FIRST[:50] + NEW], [None, None]),
    "the same page with a few more words is a copy": ([FIRST, FIRST + NEW[:90]], [None, 0]),
    "a page that quotes another is no copy": ([FIRST, FIRST + NEW[:120]], [None, None]),
    "rows repeat only the same words, and are known though others hold their runs": (
        [ROW, ROW.replace("2019", "2020"), ROW.lower(), "", ROW.replace("2019", "2020")], [None, None, 0, None, 1],
    ),
    "marks alone are no words": (["+++", "---", "", ""], [None] * 4),
    "a text without spaces has its characters as words": (
        [CHINESE,
         "缓存会在写入之后失效，读取者随后看到新的版本，旧的版本由后台线程删除掉。", CHINESE.replace("，", " ")],
        [None, None, 0],
    ),
    "what a repeat alone says is new in another text": ([FIRST, FIRST + SECOND[:40], SECOND[:40]], [None, 0, None]),
    "a lone surrogate is read, and words after the first 4,096 are not": (
        ["a \ud800 b", " ".join([LONG, *prose(2, 9_000)]), " ".join([LONG, *prose(3, 9_000)])], [None, None, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "repeats"), CASES.values(), ids=CASES)
def test_which_texts_repeat_an_earlier_one(texts: list[list[str] | str], repeats: list[int | None]) -> None:
    """A text repeats another if it says nearly the same in other marks, and not if it says more."""
    assert places(*(text if isinstance(text, str) else " ".join(text) for text in texts)) == repeats


def runs(text: str) -> frozenset[tuple[str, ...]]:
    words = text.split()
    return frozenset(tuple(words[i : i + 3]) for i in range(max(1, len(words) - 2)) if words)


def expected_places(texts: list[str]) -> list[int | None]:
    """Compare each text with those before it, slowly."""
    owners: dict[tuple[str, ...], int] = {}
    sizes: list[int] = []
    short: dict[frozenset[tuple[str, ...]], int] = {}
    answers: list[int | None] = []
    for text in texts:
        own = runs(text)
        shares = [0] * len(sizes)
        for run in own & owners.keys():
            shares[owners[run]] += 1
        best = max(range(len(sizes)), key=shares.__getitem__, default=None)
        repeat = 0 < len(own) < 12 and own in short
        if best is not None and shares[best] and len(own) >= 12 and sizes[best] >= 12:
            most = shares[best] >= 0.6 * sizes[best] and len(own) <= 2 * sizes[best]
            repeat = sum(shares) >= 0.6 * len(own) or most
        if repeat:
            answers.append(short.get(own, best))
            continue
        if len(own) < 12:
            short[own] = len(sizes)
        for run in own:
            owners.setdefault(run, len(sizes))
        sizes.append(len(own))
        answers.append(None)
    return answers


@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=60).map(" ".join), max_size=12))
def test_it_equals_a_slow_comparison(texts: list[str]) -> None:
    """Which texts are repeats is what sets of runs say."""
    fast = [place is None for place in places(*texts)]
    assert fast == [place is None for place in expected_places(texts)]
