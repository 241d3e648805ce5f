import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sleuth.text.ngrams import add_rows


def reference(text: str, table: NDArray[np.int8]) -> list[int]:
    """Sum the rows of all n-grams, one after the other."""
    marks = "".join(sign for sign in map(chr, range(0x300, 0x2000)) if not sign.isalpha())
    text = text.translate(str.maketrans("", "", marks))
    spaced = "".join(sign if sign.isalpha() else " " for sign in text)
    bits, sums = len(table).bit_length() - 1, np.zeros(table.shape[1], np.int32)
    for k, word in enumerate(spaced.split(" ")):
        is_last = k == spaced.count(" ")  # nothing stands behind it
        padded = f" {word}" if is_last else f" {word} "
        for end in range(1, len(padded)) if word else ():
            for start in range(max(end - 3, 0), end + 1):
                hash = 0
                for sign in reversed(padded[start : end + 1]):
                    hash = (hash + ord(sign)) * 0x9E3779B1 % 2**32
                if padded[start : end + 1] != " ":
                    sums += table[hash >> (32 - bits)]
    return list(sums)


@given(
    st.text(st.sampled_from("aбnक़\u093f\u0301ß 1.\u3042\U0001d538\ud800"), max_size=40),
    st.sampled_from([2, 64]),
)
def test_sums_are_those_of_the_definition(text: str, rows: int) -> None:
    """Each n-gram of one to four letters adds its row; marks are left out, and words stand between blanks."""
    table = np.random.default_rng(rows).integers(-128, 128, (rows, 3), np.int8)
    assert list(add_rows(text, table)) == reference(text, table)
