"""Analyzers split text into tokens with their places, and the kernel counts the same tokens."""

import tomllib
import unicodedata
from collections import Counter
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.text import analyzers, words
from sleuth.text import stemming as snowball
from sleuth.text.analyzers import get_analyzer
from sleuth.text.runs import has_unspaced
from tests.examples import examples

NAMES = ["english", "german", "arabic", "turkish", "vietnamese", "plain", "code", "code-english", "names"]
ODD = (
    "naïve Ångström ﬁ ½ Ⅳ ㎏ ℃ x² İi ß ﬀ ｶﾞ Ｗide 漢字かな"
    " 한국어 ไทย कार्यक्रम 🚀👩‍👩‍👧🇩🇪🇫🇷👍🏽 1️⃣"
    " it’s don't 'tis _a__b_ getHTTPResponse2 \u00ad\u200d\u0301 e-mail ü-x\u0301 ｗｉ-ﬁ 日-本 Müller Ŏ-ŉ ١-a"
)
COMPOUNDS = (
    "U.S. x.y.zé 3.5mm 2.10.3 '7.5' c# C++ c++11 i++j F#é vitamin\nc the 7 of a e-mail 7 type-2 é 7 Straße Q"
    " b 5- 漢3.5 u.s漢 x漢u.s 漢 x 漢c 5 1.5漢.7 m.漢 c#漢 Müller-x 5"
)
KNOWN = tomllib.loads((Path(__file__).parent / "tokens.toml").read_text("utf8"))
"""Tokens of texts by analyzer."""
anything = st.one_of(
    st.text(st.characters(), max_size=40),
    st.text(st.sampled_from(ODD + " \0\ud800.-"), max_size=40),
    st.text(st.sampled_from(" \n..#++-'5xcTé漢"), max_size=20),
    st.lists(st.sampled_from(COMPOUNDS.split(" ")), max_size=8).map(" ".join),
    st.text(st.characters(max_codepoint=0x2FF), max_size=40),
)


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [(name, text, tokens) for name, table in KNOWN.items() for text, tokens in table.items()]
    + [("plain", "a\ud800b\0c", ["a", "b", "c"])],
)
def test_tokens_of_known_texts(name: str, text: str, tokens: list[str]) -> None:
    """Each analyzer gives the tokens that its description promises."""
    assert get_analyzer(name).tokens(text) == tokens


@settings(max_examples=examples(100), deadline=None)
@given(text=anything, name=st.sampled_from(NAMES))
@example(text=ODD, name="english")
@example(text=COMPOUNDS, name="english")
@example(text=COMPOUNDS, name="german")
@example(text=ODD, name="plain")
@example(text=ODD, name="code")
def test_spans_are_the_tokens_with_their_places(text: str, name: str) -> None:
    """Spans have the tokens in order, inside the text, and never empty."""
    analyzer = get_analyzer(name)
    spans = analyzer.spans(text)
    assert [token for _, _, token in spans] == analyzer.tokens(text)
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
    assert all(token for _, _, token in spans)


@settings(max_examples=examples(100), deadline=None)
@given(texts=st.lists(anything, max_size=6), name=st.sampled_from(NAMES), weight=st.integers(1, 3))
@example(texts=[ODD, ODD.upper(), ODD * 2], name="english", weight=2)
@example(texts=[COMPOUNDS, COMPOUNDS.upper()], name="english", weight=2)
@example(texts=[COMPOUNDS, COMPOUNDS.upper()], name="polish", weight=1)
@example(texts=[ODD, "plain ascii", ""], name="plain", weight=1)
@example(texts=[ODD, ODD.upper()], name="code", weight=1)
@example(texts=["a_" * 50, "a_" * 50 + "b é" + "é" * 60], name="plain", weight=1)
@example(texts=["A_b x" + "y" * 100, "A_b a_b"], name="names", weight=1)
# Two words of one hash, one begins the other.
@example(texts=["kernelvtclaim kernel"], name="plain", weight=1)
@example(texts=["b a a b", "a a a b", "", "a b a"], name="plain", weight=1)
def test_the_kernel_reads_what_tokens_gives(texts: list[str], name: str, weight: int) -> None:
    """Counting many texts in the kernel, or looking for phrases, equals doing so in `tokens` of each, ASCII or not."""
    analyzer = get_analyzer(name)
    counter = analyzer.counter()
    ends, terms, counts, lengths = counter.count([texts, texts], [weight, 1])
    data, starts = counter.dictionary()
    words = [
        bytes(data[starts[i] : starts[i + 1]]).decode("utf-8", "surrogatepass") for i in range(len(counter))
    ]
    assert len(set(words)) == len(words)
    first = 0
    for text, end, length in zip(texts, ends, lengths, strict=True):
        term_counts = {words[t]: int(c) for t, c in zip(terms[first:end], counts[first:end], strict=True)}
        expected = Counter(analyzer.tokens(text))
        assert term_counts == {token: n * (weight + 1) for token, n in expected.items()}
        assert length == expected.total() * (weight + 1)
        first = end
    sequences = [analyzer.tokens(text) for text in texts]
    for phrase in [tokens[1:4] for tokens in sequences if tokens[1:]]:
        at = [[tokens[i : i + len(phrase)] for i in range(len(tokens))] for tokens in sequences]
        assert analyzer.hold([[""] * len(texts), texts], phrase).tolist() == [phrase in parts for parts in at]


def test_many_batches_count_like_one() -> None:
    """Counting continues over calls and batches, and the numbers of terms stay."""
    texts = [f"word{i % 13} other{i} " + "filler " * 300 for i in range(4000)]
    counter = get_analyzer("plain").counter()
    ends, terms, counts, lengths = counter.count([texts], [1])
    again = counter.count([texts[:10]], [1])
    assert ends[-1] == len(terms) == len(counts) == 3 * 4000
    assert set(lengths.tolist()) == {302}
    np.testing.assert_array_equal(again[1], terms[:30])
    assert counter.hold([texts], ["word0", "other3991"]).nonzero()[0].tolist() == [3991]


@settings(max_examples=examples(50), deadline=None)
@given(
    before=st.lists(anything, max_size=3), texts=st.lists(anything, max_size=4), name=st.sampled_from(NAMES)
)
@example(before=["new words of a text"], texts=["text of words", "newer"], name="plain")
def test_a_recycled_counter_counts_as_a_new_one(before: list[str], texts: list[str], name: str) -> None:
    """What a counter knows of runs changes neither counts nor numbers of terms nor the dictionary."""
    analyzer = get_analyzer(name)
    new = analyzer.counter()
    recycled = analyzer.counter()
    recycled.count([before], [1])
    recycled.restart()
    assert len(recycled) == 0
    for expected, result in zip(new.count([texts], [2]), recycled.count([texts], [2]), strict=True):
        np.testing.assert_array_equal(expected, result)
    for expected, result in zip(new.dictionary(), recycled.dictionary(), strict=True):
        np.testing.assert_array_equal(expected, result)


def test_spare_counters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next counter knows the runs of the last one, unless spare counters know more than their bound."""
    monkeypatch.setattr(analyzers, "_spare_counters", {})
    plain, english = get_analyzer("plain"), get_analyzer("english")
    first = plain.counter()
    first.count([["some words"]], [1])
    plain.recycle(first)
    assert plain.counter() is first
    monkeypatch.setattr(analyzers, "_MOST_KNOWN", first.known)
    plain.recycle(first)
    second = english.counter()
    second.count([["one more"]], [1])
    english.recycle(second)
    assert plain.counter() is not first
    assert english.counter() is not second


@settings(max_examples=examples(100), deadline=None)
@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8))
def test_case_and_compatible_forms_do_not_matter(word: str) -> None:
    """NFC and NFD spellings give the same tokens."""
    plain = get_analyzer("plain")
    composed, decomposed = (unicodedata.normalize(form, word) for form in ("NFC", "NFD"))
    assert plain.tokens(composed) == plain.tokens(decomposed)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("english", "“Straße” — ﬁne CAFÉS, 東京都", [
            ("Straße", "strass"), ("ﬁne", "fine"), ("CAFÉS", "cafe"), ("東京", "東京"), ("京都", "京都"),
        ]),
        ("english", "In version 7 of C++ (U.S.)", [
            ("version", "version"), ("version 7", "version7"), ("C++", "c++"), ("U.S", "u.s."),
        ]),
        ("code", "x = parse_args2()", [
            ("x", "x"), ("parse_args2", "parse_args2"), ("parse", "parse"), ("args", "args"), ("2", "2"),
        ]),
    ],
    ids=["before normalisation", "compounds whole", "parts of identifiers inside them"],
)  # fmt: skip
def test_spans_point_at_the_words_of_the_original(
    name: str, text: str, expected: list[tuple[str, str]]
) -> None:
    """Places refer to the original text, with what is between the parts of a compound."""
    assert [(text[start:end], token) for start, end, token in get_analyzer(name).spans(text)] == expected


@settings(max_examples=examples(100), deadline=None)
@given(text=anything)
@example(text=COMPOUNDS)
def test_words_are_tokens_without_compounds_of_two_words(text: str) -> None:
    """`words_of_each` leaves out what a word and a single letter or digit make, and nothing else."""
    english = get_analyzer("english")
    compounds = Counter(
        token for start, end, token in english.spans(text) if {" ", "\n"} & {*text[start:end]}
    )
    assert Counter(*english.words_of_each([text])) + compounds == Counter(english.tokens(text))


def test_a_run_of_letters_is_the_word_that_it_is_among_other_signs() -> None:
    letters = [
        char for code in range(0x80, 0x20000) if (char := chr(code)).isalpha() and not has_unspaced(char)
    ]
    for run in [*letters, *(f"a{letter}b" for letter in letters)]:
        assert words.pieces(run) == words.pieces(f"{run}\xa0"), f"U+{ord(max(run)):04X}"


def test_marks_of_latin_letters_alone_are_dropped() -> None:
    for letter in filter(str.isalpha, map(chr, range(0x80, 0x2000))):
        kept, is_latin = "", False
        for char in unicodedata.normalize("NFD", letter):
            if not unicodedata.category(char).startswith("M"):
                is_latin = char < "\u0250"
            elif is_latin:
                continue
            kept += words.without_accents(char) if is_latin else char
        assert words.without_accents(letter) == unicodedata.normalize("NFC", kept), f"U+{ord(letter):04X}"


def test_encoded_data_is_left_out() -> None:
    """Tokens of more than a hundred characters are dropped."""
    for name in NAMES:
        assert get_analyzer(name).tokens("q" * 101 + " short") == ["short"]


def test_an_unknown_analyzer_is_refused_with_the_known_names() -> None:
    """An unknown analyzer raises an error with the known names."""
    with pytest.raises(ArgumentError, match=r"one of code, .*plain, .*german, .*got 'latin'"):
        get_analyzer("latin")


def test_fingerprints_differ() -> None:
    """Different analyzers have different fingerprints."""
    assert len({get_analyzer(name).fingerprint for name in NAMES}) == len(NAMES)


def test_another_release_of_the_stemmer_makes_another_analyzer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stemmer's version changes the fingerprint of analyzers that stem, and of no other."""
    monkeypatch.setattr("Stemmer.version", lambda: "2.0.1")
    fresh = {name: copy(get_analyzer(name)) for name in ("english", "code-english", "plain")}
    for analyzer in fresh.values():
        vars(analyzer).pop("fingerprint", None)
    fingerprints = {name: analyzer.fingerprint for name, analyzer in fresh.items()}
    assert fingerprints["english"].endswith("+snowball-2.0.1")
    assert fingerprints["code-english"].endswith("+snowball-2.0.1")
    assert fingerprints["plain"] == get_analyzer("plain").fingerprint


def test_words_are_stemmed_and_folded() -> None:
    """Each word gets its stem, which is folded where it has letters beyond ASCII."""
    assert snowball.Stemming("english")(["buckets", "refilled"]) == ["bucket", "refil"]
    assert snowball.Stemming("french", lambda stem: stem.replace("é", "e"))(["étés"]) == ["ete"]
    assert snowball.Stemming("english").stem_ascii()("buckets") == "bucket"


def test_words_of_an_algorithm_that_snowball_lacks_stay() -> None:
    """Older versions of Snowball have fewer languages: their words are searched as they are."""
    stemming = snowball.Stemming("klingon")
    assert stemming(["tlhingan", "maH"]) == ["tlhingan", "maH"]
    assert stemming.stem_ascii()("maH") == "maH"
