"""Code in a language whose grammar is not installed, at a shell where all optional packages are hidden."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from sleuth import open_code
from sleuth.code import Navigator
from sleuth.code.parsing.languages import LANGUAGES
from sleuth.code.search.retriever import SnapshotRetriever
from tests.code.conftest import opened, write

HIDDEN = ["wordllama", *sorted({language.package for language in LANGUAGES.values() if language.extra})]
START = "import sys; sys.modules.update(dict.fromkeys({hidden})); from sleuth.__main__ import main; main()"


def sleuth(folder: Path, *arguments: str, modules: list[str] = HIDDEN) -> subprocess.CompletedProcess[str]:
    """Run the command line without some packages."""
    command = [sys.executable, "-c", START.format(hidden=modules), *arguments]
    env = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_such_files_are_counted_and_found_by_their_words(tmp_path: Path) -> None:
    """One line counts them and names the extra; `--again` parses them once it is installed."""
    methods = "\n".join(f"    fun refill{i}() {{ println({i}) }}" for i in range(30))
    files = {name: f"class {name[:-3]} {{\n{methods}\n}}" for name in ("Cart.kt", "Bill.kt", "Tax.cs")}
    write(tmp_path / "shop", {**files, "bucket.py": "def refill(): return 1\n"})
    indexed = sleuth(tmp_path, "code", "index", "shop")
    assert (indexed.returncode, "3 skipped" in indexed.stdout) == (0, True), indexed.stderr
    assert indexed.stderr.startswith(
        "  2 .kt, 1 .cs: not parsed: its grammar is not installed (pip install 'sleuth[code]'"
    )
    with open_code(tmp_path / ".sleuth") as storage:
        (hit, *_) = SnapshotRetriever(storage, storage.repositories()[0].id).retrieve(
            "refill7", filter="language:kotlin"
        )
        assert hit.metadata["path"] in ("Cart.kt", "Bill.kt")
    again = sleuth(tmp_path, "code", "index", "shop", "--again", modules=[])
    assert (again.returncode, "0 skipped" in again.stdout) == (0, True), again.stderr
    with open_code(tmp_path / ".sleuth") as storage:
        snapshot = opened(storage)
        assert Navigator(snapshot).find_definition("Cart.refill7")


def test_each_grammar_is_in_the_extra_that_its_language_names() -> None:
    """The core requires the grammars of languages without an extra, and no other."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    required = {"": project["dependencies"], **project["optional-dependencies"]}
    for extra in ("", "code"):
        packages = {re.split(r"[<>=]", line)[0] for line in required[extra]} - {"tree-sitter"}
        expected = {
            language.package.replace("_", "-")
            for language in LANGUAGES.values()
            if language.package and language.extra == extra
        }
        assert {name for name in packages if name.startswith("tree-sitter")} == expected
