"""Training of the vectors of code reads repositories as its documentation says."""

import subprocess

import numpy as np
import pytest

from sleuth.dense import load_model
from tools import train_code_vectors as training

FIRST = '''
def open_basket(path):
    """Open a basket and count its fruit."""
    return [fruit for fruit in path]


def close(basket):
    basket.shut()
'''


@pytest.fixture(scope="module")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> training.Lessons:
    """Return what a small repository teaches, written and read again."""
    folder = tmp_path_factory.mktemp("training")
    tree, mirror = folder / "tree", folder / "mirror"

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tree, *identity, *arguments], check=True, capture_output=True)

    tree.mkdir()
    git("init", "-q")
    (tree / "basket.py").write_text(FIRST)
    git("add", ".")
    git("commit", "-qm", "Begin with a basket")
    (tree / "basket.py").write_text(FIRST.replace("basket.shut()", "basket.shut(softly=True)"))
    git("commit", "-qam", "Close baskets without noise\n\nSigned-off-by: a <a@b>")
    (tree / "basket.py").write_text(FIRST.replace("basket.shut()", "basket.shut(softly=1)"))
    git("commit", "-qam", "Bump version of the basket to 2")
    subprocess.run(["git", "clone", "-q", "--bare", tree, mirror], check=True)
    training.lessons_of(mirror).save(folder / "some.npz")
    return training.Lessons.load(folder / "some.npz")


def read(texts: training.Texts, place: int) -> str:
    """Return the text of some ids."""
    ids = texts.ids[texts.starts[place] : texts.starts[place + 1]]
    return b"".join(load_model().tokens[at] for at in ids.tolist()).decode().replace("\u2581", " ").strip()


def test_lessons(lessons: training.Lessons) -> None:
    """Code stands apart from its docstring; a message belongs to what its commit changed, routine ones to nothing."""
    assert len(lessons.code.starts) == 3
    assert "open_basket" in read(lessons.code, 0) and "count its fruit" not in read(lessons.code, 0)
    assert read(lessons.docs, 0) == "open a basket and count its fruit."
    assert read(lessons.docs, 1) == ""
    assert [read(lessons.messages, 0)] == ["close baskets without noise"] and len(
        lessons.messages.starts
    ) == 2
    assert lessons.changed.tolist() == [1]


def test_batch(lessons: training.Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first definitions are those that queries belong to; the same definition elsewhere is ignored."""
    monkeypatch.setattr(training, "PAIRS", 4)
    monkeypatch.setattr(training, "OTHERS", 6)
    batch = training.batch_of(lessons, np.random.default_rng(0))
    assert batch.ignored.shape == (4, 10)
    assert not batch.ignored.diagonal().any() and batch.ignored[:, :4].sum() == 12
    assert set(batch.queries[1].tolist()) == set(range(4))


def test_judgement(lessons: training.Lessons) -> None:
    """The one message finds its definition first by its words."""
    scores = training.judge(lessons, load_model().table)
    assert scores["BM25"] == 1.0 and set(scores) == {"BM25", "cosine", "both"}


def test_training(lessons: training.Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training gives a row of whole numbers for each token, and brings pairs together."""
    pytest.importorskip("torch", reason="training alone needs it")
    for name, value in {"PAIRS": 8, "OTHERS": 8, "STEPS": 20, "RATE": 0.05}.items():
        monkeypatch.setattr(training, name, value)
    table = training.train([lessons])
    assert table.dtype == np.int8 and table.shape == (32_000, 128)
    assert training.judge(lessons, table)["cosine"] == 1.0
