"""Stems of Snowball, and words that have none."""

from sleuth.text import stemming as snowball


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
