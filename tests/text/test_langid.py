import random
from pathlib import Path

import pytest

from sleuth.errors import LoadError
from sleuth.text.langid import LanguageModel, language_model
from tests.text.test_detection import TEXTS


def test_languages_are_those_of_the_package() -> None:
    """The model names the language that py3langid names: of whole texts, of parts, of capitals and of letters."""
    from py3langid import langid

    package = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    random.seed(1)
    texts = [text[:n] for text in TEXTS.values() for n in (40, 250, 2_000)]
    texts += [text.upper() for text in texts] + ["e\u0301te\u0301", "\ud800 und", "a\0b"]
    texts += ["".join(random.choices("".join(TEXTS.values()), k=100)) for _ in range(200)]
    codes = {text: code for text in texts if (code := language_model().classify(text))}
    assert codes == {text: package.classify(text)[0] for text in codes}
    assert len(set(codes.values())) > 20
    assert len(codes) > len(set(texts)) - 5  # those without a known n-gram


def test_rows_that_were_forgotten_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that keeps hardly any row gives the same answers."""
    texts = [text[:250] for text in TEXTS.values()]
    expected = list(map(language_model().classify, texts))
    monkeypatch.setattr("sleuth.text.langid._ROWS", 2)
    assert list(map(language_model().classify, texts)) == expected


def test_a_text_without_a_known_sign_has_no_language() -> None:
    """Nothing is guessed for an empty text."""
    assert language_model().classify("") == ""


@pytest.mark.parametrize("name", ["other.npz", "words.txt"])
def test_another_model_is_refused(tmp_path: Path, name: str) -> None:
    """A file that is laid out in another way is an error that names it."""
    import lzma

    import numpy as np

    if name == "words.txt":
        (tmp_path / name).write_bytes(lzma.compress(b"words"))
    else:
        np.savez_compressed(tmp_path / name, ptc=np.zeros((2, 2), np.float16))
        (tmp_path / name).write_bytes(lzma.compress((tmp_path / name).read_bytes()))
    with pytest.raises(LoadError, match=r"no model of py3langid 0\.4"):
        LanguageModel(tmp_path / name)
