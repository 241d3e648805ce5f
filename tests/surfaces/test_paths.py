"""Paths that commands print and accept, from any working folder."""

import fcntl
import json
import os
import re
import zipfile
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.surfaces.cli.places import from_here
from tests import commands
from tests.code.conftest import write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a lexical index, created by the command line."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"docs/README.md": "An ocelot sleeps.", "README.md": "An ocelot hunts."})
    assert sleuth("index", ".", "--embedder", "").startswith("2 added")
    return tmp_path


def sleuth(*arguments: str, **environment: str) -> str:
    """Return what a command prints in the current folder."""
    process = commands.sleuth(*arguments, cwd=Path.cwd(), **environment)
    assert process.returncode == 0, process.stderr
    return process.stdout + process.stderr


def printed_paths(**environment: str) -> list[str]:
    output = sleuth("search", "ocelot", **environment)
    return re.findall(r"^ *\d+ (\S+?):\d+-\d+ ", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("folder", "expected"), [(".", {"README.md", "docs/README.md"}), ("docs", {"../README.md", "README.md"})]
)
def test_paths_lead_to_files(
    home: Path, monkeypatch: pytest.MonkeyPatch, folder: str, expected: set[str]
) -> None:
    """A path that `search` or `ask` prints opens from here, and `show` and `delete` accept it."""
    monkeypatch.chdir(home / folder)
    paths = printed_paths()
    assert set(paths) == expected
    for path in paths:
        text = Path(path).read_text()
        assert text in sleuth("show", path)
        assert text in sleuth("show", f"{path}:1-1")
        assert text in sleuth("index", "summarize", path)
    assert sleuth("index", "delete", "README.md") == "Deleted 1 document.\n"
    assert Path(printed_paths()[0]).read_text() != Path("README.md").read_text()


def test_paths_from_elsewhere(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of the index's folder, paths are absolute."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    paths = printed_paths(SLEUTH_INDEX=str(home / ".sleuth"))
    assert set(paths) == {str(home / "README.md"), str(home / "docs" / "README.md")}


def test_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths below the working folder are relative; others are if both lie below the base."""
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    here = os.fspath(tmp_path / "a")
    assert from_here(f"{here}/b") == "b"
    assert from_here(here) == "."
    assert from_here(f"{here}b/c") == f"{here}b/c"
    assert from_here(f"{tmp_path}/x/y", os.fspath(tmp_path)) == "../x/y"
    assert from_here(f"{tmp_path}/x/y", f"{tmp_path}/x") == f"{tmp_path}/x/y"


def test_a_folder_below_another_index(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`index` names the index that it writes to if it is in a folder above."""
    monkeypatch.chdir(home / "docs")
    Path("b.md").write_text("A margay climbs.")
    assert f"Writing to the index of a folder above, {home}/.sleuth" in sleuth("index", "b.md")
    monkeypatch.chdir(home)
    assert "Writing to" not in sleuth("index", "docs")


def test_status_shows_roots(home: Path) -> None:
    """Each root is listed with its remembered options, and whether it is gone."""
    sleuth("index", "docs", "--exclude", "*.txt", "--metadata-field", "year")
    assert "root   docs  exclude=*.txt metadata_fields=year" in sleuth("status")
    assert "chunk_size 400" in sleuth("status")
    (home / "docs").rename(home / "papers")
    root = "root   docs  exclude=*.txt metadata_fields=year  gone: `sleuth index --prune docs`"
    assert root in sleuth("status")
    assert {"name": "", "options": {}, "gone": False} in json.loads(sleuth("status", "--json"))["roots"]


def test_status_prints_no_values_of_python(home: Path) -> None:
    """The process that writes, and metadata among remembered options, are printed as words."""
    with Engine.open(home / ".sleuth") as engine:
        engine.index([home / "docs"], options={"metadata": {"team": "red", "tags": ["a", "b"]}})
    holder = {"pid": 7, "host": "here", "program": "sleuth index", "since": "noon"}
    with (home / ".sleuth/writer.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate()
        lock.write(json.dumps(holder))
        lock.flush()
        printed = " ".join(sleuth("status").split())
    assert "writer process 7 on here (sleuth index) since noon" in printed
    assert "metadata=tags:a,b,team:red" in printed
    assert not set("{}[]'") & set(printed)
    assert "embedder ," not in printed


def test_a_renamed_root_is_offered_to_be_moved(home: Path) -> None:
    """`index` names the commands that move or prune it, and both do; two blanks in a name stay two."""
    sleuth("index", "docs", "--exclude", "*.txt")
    (home / "docs").rename(home / "my  papers")
    report = sleuth("index", "my  papers")
    assert (
        "docs is gone, and my  papers has the same content (100%): `sleuth index move docs 'my  papers'` keeps its "
        "metadata and options, `sleuth index --prune docs` deletes its 1 document." in report
    )
    assert sleuth("index", "move", "docs", "my  papers").startswith("Moved 0 documents.\nDeleted 1 ")
    assert " my  papers/README.md:1-1 " in sleuth("search", "ocelot")
    assert '"file_path": "my  papers/README.md"' in sleuth("grep", "ocelot", "my  papers", "--json")
    assert "docs is gone" not in sleuth("index", "my  papers")


def test_a_folder_is_never_offered_to_be_moved_to_itself(home: Path) -> None:
    """A renamed folder is recognised below an indexed folder that still holds the documents of its old name."""
    sleuth("index", "docs", "--exclude", "*.txt")
    (home / "docs").rename(home / "manual")
    report = sleuth("index", ".")
    assert "docs is gone, and manual has the same content (100%): `sleuth index move docs manual`" in report
    sleuth("index", "manual", "--exclude", "*.txt")
    (home / "manual").rename(home / "papers")
    assert "`sleuth index move manual papers`" in (report := sleuth("index", "."))
    assert "`sleuth index move docs papers`" in report


def test_quiet_is_quiet(home: Path) -> None:
    """`index -q` prints nothing where files were read, and the reason where none could be."""
    (home / "bad.pdf").write_text("no PDF")
    (home / "docs" / "README.md").unlink()
    assert sleuth("index", "-q", ".") == ""
    assert "bad.pdf: not a PDF" in commands.sleuth("index", "-q", "bad.pdf", cwd=home).stderr


def test_lines_of_code_are_kept(home: Path) -> None:
    """A hit in a file of code is shown line by line, from a line on, with its indentation."""
    lines = [
        "def first():", "    return 1", "", "def second(value):", "    if value:", "        return margay",
    ]  # fmt: skip
    Path("code.py").write_text("\n".join(lines) + "\n")
    sleuth("index", "code.py")
    assert "\n       if value:\n           return margay\n" in sleuth("search", "margay")


def test_files_that_are_gone(home: Path) -> None:
    """`index` hints at files that are gone."""
    (home / "docs" / "README.md").unlink()
    assert "1 file is gone, and still in the index: --prune deletes their documents." in sleuth("index", ".")


def test_the_index_is_left_out_of_git(home: Path) -> None:
    """A new index folder holds a `.gitignore` that leaves it out."""
    assert (home / ".sleuth" / ".gitignore").read_text().splitlines()[-1] == "*"


def test_only_lines_of_a_file_are_printed_as_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of a web page or an archive has other lines than the file: its hits have no lines."""
    monkeypatch.chdir(tmp_path)
    sections = "".join(f"<h2>Part {n}</h2>\n\n\n<p>{'An ocelot sleeps here. ' * 90}</p>\n" for n in range(3))
    Path("page.html").write_text(f"<html>\n<title>Cats</title>\n<body>\n{sections}</body></html>")
    Path("note.md").write_text("# Note\n\nAn ocelot sleeps.\n")
    with zipfile.ZipFile("box.zip", "w") as archive:
        archive.writestr("inside.txt", "An ocelot sleeps in a box.")
    sleuth("index", ".", "--embedder", "")
    items = json.loads(sleuth("search", "ocelot", "--json"))["items"]
    lined = {item["metadata"]["path"] for item in items if "start_line" in item["metadata"]}
    assert lined == {"note.md"}
    assert {item["metadata"]["path"] for item in items} == {"page.html", "box.zip", "note.md"}
    printed = sleuth("search", "ocelot")
    assert re.findall(r"^ *\d+ (\S+:\d+-\d+) ", printed, re.MULTILINE) == ["note.md:1-3"]
    assert re.search(r"^ *\d+ page.html ", printed, re.MULTILINE)
    assert "page.html § Part" in sleuth("ask", "where does an ocelot sleep", "--filter", "path:page.html")
    assert "An ocelot sleeps here." in sleuth("show", "page.html")


def test_documents_are_listed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`list` prints a path that opens from here for each document, in order of id, as far as they match a filter."""
    assert sleuth("list") == "README.md\ndocs/README.md\n"
    monkeypatch.chdir(home / "docs")
    assert sleuth("list") == "../README.md\nREADME.md\n"
    assert sleuth("list", "--filter", "path:docs/README.md") == "README.md\n"
    (entry,) = json.loads(sleuth("list", "--json", "-f", "path:docs/README.md"))
    assert (entry["id"], entry["metadata"]["type"]) == ("docs/README.md", "markdown")
    nothing = commands.sleuth("list", "--filter", "type:pdf", cwd=Path.cwd())
    assert (nothing.returncode, nothing.stdout, "values are 'markdown'" in nothing.stderr) == (1, "", True)


def test_all_documents_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More documents than one page of the listing holds come once each."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("name\n" + "".join(f"cat {n}\n" for n in range(1_001)))
    sleuth("index", ".", "--embedder", "")
    assert sorted(sleuth("list").split()) == sorted(f"rows.csv#{n}" for n in range(1, 1_002))


def test_a_cited_source_names_its_title_once(tmp_path: Path) -> None:
    """The heading of a passage is shown below the title of its document, not with it again."""
    (tmp_path / "limits.md").write_text(
        "# Limits\n\n## Buckets\n\nA bucket is refilled with fifty tokens every second.\n"
    )
    commands.sleuth("index", "limits.md", cwd=tmp_path)
    answer = commands.sleuth("ask", "how many tokens refill a bucket every second", cwd=tmp_path)
    assert answer.stdout.splitlines()[-1] == "[1] limits.md:1-5  Limits  § Buckets"
