"""Notebooks: code cells as code, on the lines that they have in the file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from sleuth import CodeRetriever, open_code
from sleuth.code import index_path
from sleuth.code.parsing import analyse
from sleuth.code.parsing.notebooks import code_of_notebook

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


def test_functions_of_cells_are_found_with_their_cell(tmp_path: Path) -> None:
    """A hit in a notebook is a function of its language, on lines of the file, and names its cell."""
    (tmp_path / "work").mkdir()
    raw = notebook()
    (tmp_path / "work" / "fish.ipynb").write_text(raw)
    with open_code(tmp_path / "index", create=True) as storage:
        repository = index_path(storage, tmp_path / "work").repository
        (hit, *_) = CodeRetriever(storage, None).retrieve(
            "load", repository, strategy="keyword", filters={"language": "python"}
        )
        assert (hit.symbol, hit.file_path) == ("load", "fish.ipynb")
        line = raw.split("\n").index('    "def load(path):\\n",') + 1
        assert (hit.start_line, hit.end_line) == (line, line + 1)
