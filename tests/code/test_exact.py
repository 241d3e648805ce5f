"""Names and places in a query come first."""

# ruff: noqa: E501 - sources, a line each
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.code import CodeStorage, index_path
from sleuth.code.snapshots.places import Endings, Folders, Modules, module_steps
from tests.code.conftest import hits_by_words, write
from tests.code.projects import files_of
from tests.code.stored import ENDINGS
from tests.code.test_parse import SOURCES

FILES = files_of("models")
HELPERS = [f"def helper_{i}():\n    return save(Model, {i})\n" for i in range(30)]
FILES["app/models.py"] += "\n\n" + "\n".join(HELPERS)


@pytest.fixture
def ask(tmp_path: Path, storage: CodeStorage) -> Callable[..., list[str]]:
    """Search `FILES` and return the paths and first lines of the hits."""
    write(tmp_path / "app", FILES)
    report = index_path(storage, tmp_path / "app")

    def ask(query: str, **options: Any) -> list[str]:
        hits = hits_by_words(storage, report.repository, query, **options)
        assert [hit.score for hit in hits] == sorted([hit.score for hit in hits], reverse=True)
        return [f"{hit.file_path}:{hit.start_line} {hit.symbol}" for hit in hits]

    return ask


@pytest.mark.parametrize(
    "query",
    ["Model.save", "Model::save", "Model#save", "Model.save()", "`Model.save`", "app.models.Model.save", "models.Model.save"],
)  # fmt: skip
def test_a_qualified_name_is_first(ask: Callable[..., list[str]], query: str) -> None:
    """Each spelling of a qualified name ranks its definition first, and code before tests."""
    assert ask(query)[0] == "app/models.py:8 Model.save"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("app/models.py", "app/models.py:1 Model"),
        ("models.py", "app/models.py:1 Model"),
        ("app/models.py:18", "app/models.py:15 Model.delete"),
        ("models.py:10-12", "app/models.py:8 Model.save"),
        ("helper_7", "app/models.py"),
    ],
)
def test_a_place_is_first(ask: Callable[..., list[str]], query: str, first: str) -> None:
    """A path ranks its file first, a path with a line the code around it, a unique name its definition."""
    assert ask(query)[0].startswith(first)


def test_a_question_is_no_name(ask: Callable[..., list[str]]) -> None:
    """A query that is not a name of a definition is ranked as before, and filters apply to names too."""
    assert ask("write the row")[0].startswith("app/models.py")
    assert ask("Model.save", filters={"category": "test"})[0].startswith("tests/test_models.py")


def test_a_line_between_members_follows_them(ask: Callable[..., list[str]]) -> None:
    """A single line between two methods does not outrank the methods."""
    hits = ask("save alters data of the row", limit=5)
    places = [hit for hit in hits if hit.startswith("app/models.py")]
    assert not places[0].endswith(" Model") or places[0].startswith("app/models.py:1 ")


@pytest.mark.parametrize("language", SOURCES)
def test_names_are_first_in_every_language(storage: CodeStorage, tmp_path: Path, language: str) -> None:
    """In every parsed language, the qualified name of a definition ranks it first."""
    source, symbol, _ = SOURCES[language]
    name = symbol.split()[0]
    path = f"src/sample.{ENDINGS[language]}"
    mentions = "\n".join([f"About {name}."] * 9)
    write(tmp_path / "sources", {path: source, "src/notes.md": mentions, "README.md": mentions})
    report = index_path(storage, tmp_path / "sources")
    assert hits_by_words(storage, report.repository, name)[0].file_path == path


def test_a_name_with_hyphens_is_first(tmp_path: Path, storage: CodeStorage) -> None:
    """An id of HTML and a custom property of CSS find their definitions, and not what has their words more often."""
    files = {
        "page.html": '<p>Dates</p>\n<ul>\n<li id="date-selector">x</li>\n</ul>\n',
        "main.css": ".a { color: red }\n:root { --main-color: red; }\n.main-color { color: red }\n",
        "dates.css": "".join(f".date .selector-{i} {{ color: var(--main-color) }}\n" for i in range(40)),
        "date_selector.py": "def pick(date, selector):\n    return date.selector(main, color)\n",
    }
    write(tmp_path / "site", files)
    report = index_path(storage, tmp_path / "site")
    for query, path in (("date-selector", "page.html"), ("--main-color", "main.css")):
        hits = hits_by_words(storage, report.repository, query)
        assert (hits[0].file_path, hits[0].score) == (path, 1.0)


def test_of_equal_names_the_file_of_that_name_is_first(tmp_path: Path, storage: CodeStorage) -> None:
    """Of definitions of one name, those come first whose file has it, and last those of an older version."""
    source = "class TokenBucket:\n    size = 1\n"
    paths = (
        "api/v3/token_bucket.py", "api/v4/all.py", "api/v4/token_bucket.py", "api/v4/b/token_bucket.py",
        "batch.py",
    )  # fmt: skip
    write(tmp_path / "app", dict.fromkeys(paths, source))
    report = index_path(storage, tmp_path / "app", vectors=False)
    hits = hits_by_words(storage, report.repository, "TokenBucket")
    expected = ["api/v4/token_bucket.py", "api/v4/b/token_bucket.py", "batch.py", "api/v4/all.py"]
    assert [hit.file_path for hit in hits] == [*expected, "api/v3/token_bucket.py"]


PART = st.sampled_from(["a", "b", "a.b", "__init__", "index.ts", "b.py", "a.test.js", ".env"])
PATHS = st.lists(st.lists(PART, min_size=1, max_size=9).map("/".join), unique=True, max_size=12)


def ends(parts: list[str], separator: str, most: int) -> list[str]:
    return [separator.join(parts[-size:]) for size in range(1, min(len(parts), most) + 1)]


@given(PATHS, PATHS)
def test_suffixes_find_their_files(paths: list[str], suffixes: list[str]) -> None:
    """Every suffix of a path, its folder and its module name finds exactly the files that have it."""
    lookups = [
        (Endings(paths, 5), [ends(p.split("/"), "/", 5) for p in paths]),
        (Folders(paths), [ends(p.split("/")[:-1], "/", 6) for p in paths]),
        (Modules(paths), [ends(module_steps(p), ".", 8) for p in paths]),
    ]
    for lookup, expected in lookups:
        names = {name for some in expected for name in some} | {
            *suffixes,
            *(a.replace("/", ".") for a in suffixes),
        }
        for name in names:
            assert list(lookup.get(name)) == [i for i, some in enumerate(expected) if name in some]  # type: ignore[attr-defined]
