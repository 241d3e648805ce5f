"""Texts that repeat earlier ones."""

from __future__ import annotations

import random

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


def test_a_text_in_other_marks_is_a_repeat() -> None:
    """Case, spaces, punctuation and quotation marks of another form do not count."""
    words = prose(1, 60)
    plain = " ".join(words)
    quotation = "\u201c" + "\u00a0* ".join(words).upper() + "\u201d\u2026"
    assert places(plain, " ".join(prose(2, 60)), quotation) == [None, None, 0]


def test_what_is_mostly_in_several_texts_is_a_repeat() -> None:
    """A text whose parts stand in two others repeats the one that holds more of it; half of a text is too little."""
    first, second, new = prose(1, 100), prose(2, 60), prose(3, 200)
    both = " ".join(first + second)
    assert places(" ".join(first), " ".join(second), both) == [None, None, 0]
    assert places(" ".join(first[:50]), " ".join(first[:50] + new)) == [None, None]


def test_a_text_that_holds_most_of_another_is_a_repeat_up_to_twice_its_length() -> None:
    """The same page with a few more words is a copy, a page that quotes another is not."""
    first, new = prose(1, 100), prose(2, 300)
    assert places(" ".join(first), " ".join(first + new[:90])) == [None, 0]
    assert places(" ".join(first), " ".join(first + new[:120])) == [None, None]


def test_short_texts_repeat_only_the_same_words() -> None:
    """Rows and notes of a few words that differ in one are different, and known though others hold their runs."""
    row = "city Paris year 2019 population two million people and more"
    other = row.replace("2019", "2020")
    assert places(row, other, row.lower(), "", other) == [None, None, 0, None, 1]


def test_texts_without_words_repeat_none() -> None:
    """Marks alone are no words."""
    assert places("+++", "---", "", "") == [None] * 4


def test_chinese_is_compared_by_characters() -> None:
    """A text without spaces has its characters as words."""
    text = "令牌桶每秒补充一次令牌，桶满时多余的令牌会被丢弃，请求在没有令牌时等待。"
    other = "缓存会在写入之后失效，读取者随后看到新的版本，旧的版本由后台线程删除掉。"
    assert places(text, other, text.replace("，", " ")) == [None, None, 0]


def test_a_repeat_leaves_no_trace() -> None:
    """What a repeat alone says is new when another text says it."""
    first, more = prose(1, 100), prose(2, 40)
    assert places(" ".join(first), " ".join(first + more), " ".join(more)) == [None, 0, None]


def test_broken_characters_and_long_texts() -> None:
    """A lone surrogate is read, and words after the first 4,096 are not."""
    long = prose(1, 4_096)
    assert places("a \ud800 b", " ".join([*long, *prose(2, 9_000)]), " ".join([*long, *prose(3, 9_000)])) == [
        None,
        None,
        1,
    ]


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
