"""An index remembers the files and folders that it was created from."""

import shutil
from pathlib import Path

import pytest

from sleuth import ArgumentError, Engine
from sleuth.ingest import ReadOptions
from sleuth.ingest.roots import Root
from tests.code.conftest import write


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", {"a.md": "ocelot", "data/b.csv": "t,year\nmargay,2020\n"})


def ids(engine: Engine) -> list[str]:
    return sorted(document.id for document in engine.documents())


def test_options_are_remembered(engine: Engine, docs: Path) -> None:
    """A run without options uses those of the first run, also below the folder; a mapping changes some of them."""
    engine.index([docs], options=ReadOptions(metadata_fields=["year"], exclude=["/a.md"]))
    assert ids(engine) == ["docs/data/b.csv#1"]
    for path in (docs, docs / "data", docs / "data" / "b.csv"):
        assert (engine.index([path]).read, engine.index([path]).unchanged) == (0, 1)
    engine.index([docs], options={"exclude": []})
    assert ids(engine) == ["docs/a.md", "docs/data/b.csv#1"]
    assert engine.roots() == [Root("docs", ReadOptions(metadata_fields=["year"]))]
    assert len(engine.retrieve("margay", filter="year=2020")) == 1


def test_excluded_paths_are_relative_to_the_root(engine: Engine, docs: Path) -> None:
    """A pattern with a slash matches the same file when a part of the root is indexed."""
    engine.index([docs], options={"exclude": ["/data/b.csv"]})
    assert engine.index([docs / "data"]).added == 0
    assert engine.index([docs / "data"], options={"exclude": ["/data/b.csv"]}).added == 1


def test_roots_within_roots(engine: Engine, docs: Path) -> None:
    """A folder keeps its own options when one above it is indexed, unless that has options."""
    engine.index([docs / "data"], options={"metadata_fields": ["year"]})
    assert engine.index([docs]).added == 1
    assert (engine.index([docs]).read, engine.index([docs.parent]).read) == (0, 0)
    assert [root.name for root in engine.roots()] == ["", "docs", "docs/data"]
    assert engine.index([docs], options=ReadOptions()).read == 1
    assert [root.name for root in engine.roots()] == ["", "docs"]
    assert "year: 2020" in engine.retrieve("margay")[0].text  # not chosen any more


def test_overlapping_roots(engine: Engine, docs: Path) -> None:
    """A file below two roots of one run is read once."""
    engine.index([docs / "data"], options={"metadata_fields": ["year"]})
    report = engine.index([docs / "data", docs, docs / "data" / "b.csv"])
    assert (report.added, report.unchanged, report.read) == (1, 1, 1)


def test_two_roots_with_the_same_file_names(engine: Engine, docs: Path, tmp_path: Path) -> None:
    """Files with the same name in two folders differ in `path` and `source`."""
    engine.index([docs, write(tmp_path / "other", {"a.md": "ocelot of another kind"})])
    for key in ("path", "source"):
        (item,) = engine.retrieve("ocelot", filter={key: "other/a.md"})
        assert item.text == "ocelot of another kind"
    assert {item.metadata["path"] for item in engine.retrieve("ocelot")} == {"docs/a.md", "other/a.md"}


def test_an_index_that_was_moved(docs: Path, tmp_path: Path) -> None:
    """An index that was moved or copied with its documents reads none of them again."""
    with Engine.open(tmp_path / ".sleuth", create=True) as engine:
        engine.index([docs], options={"metadata_fields": ["year"]})
    copy = tmp_path / "elsewhere" / "copy"
    copy.mkdir(parents=True)
    shutil.copytree(docs, copy / "docs")
    shutil.copytree(tmp_path / ".sleuth", copy / ".sleuth")
    (copy / "docs" / "a.md").touch()
    folder = tmp_path.rename(tmp_path.with_name(f"{tmp_path.name}-moved"))
    for base in (folder, folder / "elsewhere" / "copy"):
        with Engine.open(base / ".sleuth") as engine:
            report = engine.index([base / "docs"], prune=True)
            assert (report.added, report.updated, report.pruned, report.unchanged) == (0, 0, 0, 2)
            assert report.read == (base != folder)  # the file that was touched
            assert engine.retrieve("ocelot", 1)[0].metadata["path"] == "docs/a.md"
            assert engine.files.path_of("docs/a.md") == str(base / "docs" / "a.md")
    folder.rename(tmp_path)


def test_what_a_program_added_is_not_pruned(engine: Engine, docs: Path, tmp_path: Path) -> None:
    """A document that was not read from a file is not pruned."""
    from sleuth import Document

    engine.add([
        Document("added", {"source": "docs/added.md"}),
        Document("sent", {"source": "docs/sent.md", "path": "docs/sent.md", "modified": "2020-01-01T00:00:00Z"}),
    ])  # fmt: skip
    assert engine.index([tmp_path], prune=True).pruned == 0
    assert {"docs/added.md", "docs/sent.md"} < set(ids(engine))


def test_what_is_gone_is_counted(engine: Engine, docs: Path) -> None:
    """A run without pruning reports how many files are gone, and which roots."""
    (docs / "c.md").write_text("caracal")
    engine.index([docs])
    (docs / "c.md").unlink()
    assert engine.index([docs]).gone == 1
    assert engine.index([docs], prune=True).gone == 0
    shutil.rmtree(docs)
    assert engine.roots() == [Root("docs", is_gone=True)]


def test_what_cannot_be_seen_is_not_gone(engine: Engine, docs: Path) -> None:
    """Files of a root that cannot be looked at, as on a drive that is away, are not counted as gone."""
    engine.index([write(docs / "deep", {"d.md": "dormouse"})])
    shutil.rmtree(docs)
    docs.symlink_to(docs)  # a loop: who looks into it gets an error that is not "missing"
    assert engine.roots() == [Root("docs/deep", is_gone=False)]


def test_a_root_that_was_renamed(engine: Engine, docs: Path, tmp_path: Path) -> None:
    """A renamed root is recognised by its content, and `move` renames its documents without reading a file."""
    engine.index([docs], options={"metadata_fields": ["year"]})
    engine.update({"team": "cats"}, ids=["docs/a.md"])
    papers = docs.rename(tmp_path / "papers")
    (unknown,) = engine.index([write(tmp_path / "other", {"a.md": "another text"})]).gone_roots
    assert (unknown.name, unknown.documents, unknown.moved_to) == ("docs", 2, None)
    assert engine.move(docs, papers) == (2, 0)
    assert ids(engine) == ["other/a.md", "papers/a.md", "papers/data/b.csv#1"]
    (item,) = engine.get("papers/a.md")
    assert (item.metadata["team"], item.metadata["path"]) == ("cats", "papers/a.md")
    assert Root("papers", ReadOptions(metadata_fields=["year"])) in engine.roots()
    report = engine.index([papers], prune=True)
    assert (report.read, report.unchanged, report.gone_roots) == (0, 2, [])
    assert {finding.level for finding in engine.check(full=True)} == {"ok"}


def test_a_root_that_was_renamed_and_read(engine: Engine, docs: Path, tmp_path: Path) -> None:
    """A renamed root is found within an indexed folder; moving it drops the duplicates."""
    engine.index([docs])
    (tmp_path / "all").mkdir()
    papers = docs.rename(tmp_path / "all" / "papers")
    (root,) = engine.index([tmp_path / "all"]).gone_roots
    assert (root.name, root.moved_to, root.equal) == ("docs", "all/papers", 1.0)
    assert engine.move(docs, papers) == (0, 2)
    assert ids(engine) == ["all/papers/a.md", "all/papers/data/b.csv#1"]


def test_wrong_moves(engine: Engine, docs: Path) -> None:
    """A path that is not in the index cannot be moved, and a view with a scope cannot move anything."""
    engine.index([docs])
    with pytest.raises(ArgumentError, match="old must be the path of a file or folder that is indexed"):
        engine.move("nowhere", docs)
    with pytest.raises(ArgumentError, match="scope must be None"):
        engine.scoped("year=2020").move(docs, "papers")


def test_metadata_is_kept_after_the_new_folder_was_indexed(engine: Engine, docs: Path) -> None:
    """A document with the same text inherits the options of its predecessor, and is not read again."""
    engine.index([docs], options={"metadata": {"team": "search"}})
    first = sorted(document.id for document in engine.documents())[0]
    engine.update({"owner": "Ada", "title": "Told"}, [first])
    papers = docs.rename(docs.with_name("papers"))
    (papers / "changed.md").write_text("# Other\n\nAnother text.\n")
    report = engine.index([papers])
    assert report.gone_roots[0].moved_to == "papers"
    engine.move(docs, papers)
    heir = engine.get(first.replace("docs", "papers", 1))[0].metadata
    assert (heir["owner"], heir["title"], heir["team"]) == ("Ada", "Told", "search")
    assert heir["path"] == first.replace("docs", "papers", 1)
    again = engine.index([papers])
    assert (again.added, again.deleted) == (0, 0)
    assert engine.get(first.replace("docs", "papers", 1))[0].metadata["owner"] == "Ada"
