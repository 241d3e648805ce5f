"""Documents in several languages are detected, labelled and searched by their own stems."""

from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.errors import ArgumentError
from sleuth.ingest import ReadOptions
from sleuth.text.chunkers import Chunker
from tests.code.conftest import write
from tests.commands import sleuth
from tests.text.test_detection import TEXTS


def test_languages_are_detected_and_kept(engine: Engine, tmp_path: Path) -> None:
    """Files get their language as metadata, English too; added documents get it if it is not English."""
    files = {f"{code}.txt": TEXTS[code] for code in ("de", "en", "fr", "zh")}
    tool = "def main():\n    return 'der die das und die Häuser sind'\n"
    folder = write(tmp_path / "docs", {**files, "tool.py": tool})
    engine.index([folder])
    languages = {Path(d.source).name: d.metadata.get("language") for d in engine.documents()}
    assert languages == {"de.txt": "de", "en.txt": "en", "fr.txt": "fr", "zh.txt": "zh", "tool.py": None}
    assert [Path(i.metadata["source"]).name for i in engine.retrieve("Haus", min_score=1)] == ["de.txt"]
    (hit,) = engine.retrieve("maison pierre", filter="language:fr")
    shown = engine.snippet("maison pierres", hit)
    assert [shown.text[start:end] for start, end in shown.spans] == ["maisons", "pierre"]
    engine.add([Document(TEXTS["en"], {"source": "e"}), Document(TEXTS["de"], {"source": "d"})])
    assert engine.get("e")[0].metadata.get("language") is None
    assert engine.get("d")[0].metadata["language"] == "de"


def test_a_document_and_an_option_name_a_language(engine: Engine, tmp_path: Path) -> None:
    """`metadata["language"]` wins, then the option, then detection; another option reads files again."""
    (tmp_path / "a.txt").write_text("Haus")
    (tmp_path / "b.md").write_text("---\nlanguage: fr\n---\nmaisons\n")
    paths = [tmp_path / "a.txt", tmp_path / "b.md"]
    engine.index(paths)
    assert not engine.retrieve("Häuser")
    report = engine.index(paths, options=ReadOptions(language="de"))
    assert (report.read, report.updated) == (2, 1)
    assert len(engine.retrieve("Häuser")) == len(engine.retrieve("maison")) == 1
    with pytest.raises(ArgumentError, match="language must be 'auto' or a code such as 'de'"):
        ReadOptions(language="German")


@pytest.mark.parametrize("language", [["de", "fr"], {"code": "de"}, 7, True, None])
def test_metadata_that_names_no_one_language_is_kept(hybrid: Engine, language: object) -> None:
    """Front matter such as `language: [de, fr]` is metadata like any other: the text is read as English."""
    hybrid.add([Document("Boats dock at the pier.", {"language": language, "source": "a"})])
    (hit,) = hybrid.retrieve("docking boat")
    assert hit.metadata["language"] == language


def test_the_command_line_names_a_language(tmp_path: Path) -> None:
    """`sleuth index --language de` is the option of `ReadOptions`."""
    (tmp_path / "a.txt").write_text("Haus")
    arguments = ["index", str(tmp_path / "a.txt"), "--language", "de", "--index", str(tmp_path / "index")]
    assert sleuth(*arguments, cwd=tmp_path).returncode == 0
    with Engine.open(tmp_path / "index") as engine:
        assert [document.metadata["language"] for document in engine.documents()] == ["de"]


def test_an_analyzer_that_was_chosen_is_for_all_documents(tmp_path: Path) -> None:
    """With another analyzer than the default, no language has its own field."""
    settings = {"analyzer": "plain", "embedder": ""}
    with Engine.open(tmp_path / "index", create=True, settings=settings) as engine:
        engine.add([Document(TEXTS["de"], {"source": "d"})])
        assert not engine.retrieve("Haus")
        assert engine.retrieve("Häuser")


def test_meaning_counts_only_where_the_embedder_knows_the_language(hybrid: Engine) -> None:
    """The dense leg has no weight for a question in Thai, and its full weight in German."""
    hybrid.add(Document(text, {"source": code}) for code, text in TEXTS.items())
    facts = {}
    for query in ("บ้านเรือนใน", "Häuser am Fluss"):
        explanation = hybrid.retrieve(query, explain=True)[0].explanation
        assert explanation is not None
        facts[query] = dict(explanation.facts)
    assert "match" in facts["Häuser am Fluss"]
    assert "match" not in facts["บ้านเรือนใน"]
    by_hand = hybrid.retrieve("บ้านเรือนใน", fusion="minmax(dense=1)", k=19)
    assert len(by_hand) == 19
    assert hybrid.retrieve("บ้านเรือนใน")[0].metadata["source"] == "th"
    assert hybrid.search("पुराने शहर के घर पत्थर के").grade == "likely answers"
    assert not hybrid.retrieve("東京古い町", syntax=True, legs=["lexical"]).notes
    assert hybrid.retrieve("東京", syntax=True, legs=["lexical"]).notes == ("no passage holds '東京'",)


@pytest.mark.parametrize("sign", ["।", "؟", "۔", "."])
def test_sentences_of_other_scripts_end(sign: str) -> None:
    """The danda and the Arabic full stops end a sentence, so that no chunk breaks inside one."""
    text = f"{'शब्द ' * 12}शब्द{sign} " * 6
    ends = [chunk.text[-1] for chunk in Chunker(40, 0).split(Document(text))]
    assert set(ends) == {sign}
