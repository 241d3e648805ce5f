"""Files that hold several languages: pages, components and notebooks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from sleuth.code import CodeStorage, Navigator
from sleuth.code.parsing import analyse
from sleuth.code.parsing.analyse import code_of_notebook
from tests.code.conftest import hits_by_words, open_project, parse_source
from tests.code.projects import files_of

PAGE = files_of("page")


def test_each_part_is_read_in_its_language() -> None:
    """Ids of the markup, functions of the script and names of the style are definitions of one file."""
    detail = parse_source(PAGE["Cart.vue"].encode(), "vue", "Cart.vue")
    assert detail.sound
    assert [(s.kind, s.name, s.start, s.end) for s in detail.symbols] == [
        ("constant", "cart", 2, 2), ("function", "save", 15, 18), ("constant", "page", 22, 22),
    ]  # fmt: skip
    save = detail.symbols[1]
    assert (save.signature, save.doc, "public_api" in save.labels) == (
        "function save(order: Order): number",
        "Saves an order.",
        True,
    )
    uses = {(use.name, use.role, use.line) for use in detail.references}
    assert {("OrderList", "reference", 3), ("total", "call", 17), ("--main", "reference", 22)} <= uses
    assert [(i.module, i.alias, i.line) for i in detail.imports] == [
        ("./OrderList.vue", "OrderList", 12),
        ("./sums", "total", 13),
    ]


@pytest.mark.parametrize(
    ("tag", "symbols"),
    [
        ("<script>", ["f"]), ('<script type="module">', ["f"]), ('<script type="text/typescript">', ["f"]),
        ('<script lang="tsx">', ["f"]), ('<script type="application/json">', []),
        ('<script type="text/template">', []),
    ],
)  # fmt: skip
def test_the_tag_of_a_script_says_its_language(tag: str, symbols: list[str]) -> None:
    """Only scripts are read as scripts: data and templates are not."""
    detail = parse_source(f"<p>1</p>\n{tag}function f() {{}}</script>\n".encode(), "html")
    assert [symbol.name for symbol in detail.symbols] == symbols


def test_long_scripts_are_cut_at_their_statements() -> None:
    """Code between functions of a script is cut where statements begin."""
    lines = [f"call({n},\n     {n});" for n in range(60)]
    detail = parse_source("\n".join(["<script>", *lines, "</script>", ""]).encode(), "html")
    starts = [chunk.start for chunk in detail.chunks]
    assert len(starts) == 3
    assert all(start == 1 or start % 2 == 0 for start in starts)


def test_a_template_of_something_else_is_text() -> None:
    """A template without tags is cut by its layout."""
    file = analyse.analyse("nginx.conf.j2", b"server {\n  listen {{ port }};\n}\n")
    assert (file.language, file.chunks or len(file.chunk_texts["body"])) == ("html", 1)
    assert not file.texts["defines"]


def test_pages_use_the_code_of_scripts_and_the_names_of_styles(storage: CodeStorage, tmp_path: Path) -> None:
    """A call in a component leads to the module that it imports, a class of a page to its style."""
    navigator = Navigator(open_project(storage, tmp_path / "app", PAGE))
    for name, places in (("total", [("Cart.vue", 13), ("Cart.vue", 17)]), ("hint", [("page.html", 1)])):
        assert [(use["file_path"], use["line"]) for use in navigator.find_references(name)] == places


nb: Any = nbformat.v4
write: Callable[..., str] = nbformat.writes


def notebook() -> str:
    """Return a notebook with texts, magics, outputs that repeat the source, and an empty cell."""
    code = nb.new_code_cell(
        "%matplotlib inline\nimport os\n\ndef load(path):\n    return os.stat(path)\n",
        outputs=[nb.new_output("stream", text='"source": [\nimport os\n')],
    )
    cells = [
        nb.new_markdown_cell("# Fish\n\nWe count."),
        code,
        nb.new_code_cell("%%bash\nls"),
        nb.new_code_cell(""),
        nb.new_code_cell("%%time\nprint(load('a'))"),
    ]
    return write(nb.new_notebook(cells=cells))


def test_lines_of_cells_are_those_of_the_file() -> None:
    """Each line of code keeps its line number in the file; texts and commands to the kernel are comments."""
    raw = notebook()
    code = code_of_notebook(raw)
    assert code is not None
    lines = code.text.split("\n")
    assert (code.language.name, len(lines)) == ("python", len(raw.split("\n")))
    places = {json.loads(f"[{line.strip().rstrip(',')}]")[0].rstrip("\n"): n for n, line in enumerate(raw.split("\n"))
              if line.startswith('    "') and not line.endswith("[")}  # fmt: skip
    for text in ("def load(path):", "    return os.stat(path)", "print(load('a'))"):
        assert lines[places[text]] == text
    assert lines[places["We count."]] == "# We count."
    assert lines[places["ls"]] == "# ls"
    assert [line for line in lines if "%%" in line] == [
        "# %% notebook in python", "# %% cell 1", "# %% cell 2", "# %% cell 3", "# %%bash", "# %% cell 5", "# %%time",
    ]  # fmt: skip
    assert code_of_notebook(code.text) == code


@pytest.mark.parametrize("source", [None, "def f():\n    return 1"])
def test_cells_that_are_no_lines_of_the_file_stand_one_after_another(source: str | None) -> None:
    """A notebook on one line, or with cells that are single strings, is code all the same."""
    values = json.loads(notebook())
    if source is not None:
        values["cells"] = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source}]
    code = code_of_notebook(json.dumps(values, indent=None if source is None else 1))
    assert code is not None
    text = "def f():\n    return 1" if source else "def load(path):\n    return os.stat(path)\n"
    assert text in code.text
    assert f"# %% cell {1 if source else 2}\n" in code.text


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"cells": 7, "nbformat": 4}', '{"cells": [7], "nbformat": 4}',
     '{"cells": [], "nbformat": ' + "[" * 5_000,
     '{"cells": [], "nbformat": 4, "metadata": {"language_info": {"name": "brainfuck"}}}'],
)  # fmt: skip
def test_what_is_no_notebook_in_a_known_language_is_text(text: str) -> None:
    """Other JSON, damaged notebooks and languages that are not known stay as they are."""
    assert code_of_notebook(text) is None
    assert analyse.analyse("a.ipynb", text.encode()).language == ""


def test_functions_of_cells_are_found_with_their_cell(storage: CodeStorage, tmp_path: Path) -> None:
    """A hit in a notebook is a function of its language, on lines of the file, and names its cell."""
    raw = notebook()
    repository = open_project(storage, tmp_path / "work", {"fish.ipynb": raw}).repository.id
    hit = hits_by_words(storage, repository, "load", filters={"language": "python"})[0]
    assert (hit.symbol, hit.file_path) == ("load", "fish.ipynb")
    line = raw.split("\n").index('    "def load(path):\\n",') + 1
    assert (hit.start_line, hit.end_line) == (line, line + 1)
