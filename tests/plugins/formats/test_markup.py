"""Markup of other tools is read as Markdown whose lines are those of the file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from sleuth.text.chunkers import Chunker
from tests.ingest.extraction.reading import only, reason

SAMPLES = sorted(path for path in (Path(__file__).parent / "samples").iterdir() if path.suffix != ".expected")
"""Files that are named by what they show; beside each, its type and title, and below them its text."""


@pytest.mark.parametrize("path", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_sample_is_read_as_markdown(path: Path) -> None:
    """Type, title and text are the expected ones: what is markup in the file is Markdown, at the same line."""
    document = only(path)
    text = f"{document.metadata['type']}: {document.metadata['title']}\n{document.page_content}"
    assert text == path.with_name(f"{path.name}.expected").read_text("utf8")


def test_headings_of_asciidoc_are_paths() -> None:
    """A chunk has the title of the file and the heading above it."""
    (path,) = (path for path in SAMPLES if path.suffix == ".adoc")
    assert {chunk.fields["heading"] for chunk in Chunker().split(only(path))} == {"Manual > Setup"}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("b.srt", "1\n00:00:01,000 --> 00:00:02,000\n\n", "empty"),
        ("b.rtf", "words", "not readable as RTF"),
        *(("c.ipynb", text, "") for text in (
            "{}", "[1]", '{"cells": 7}', '{"cells": [7]}', '{"cells": [{"source": [1]}]}', "[" * 5_000,
            '{"metadata": ' + "[" * 100_000 + "]" * 100_000 + ', "cells": []}',
        )),
    ],
)  # fmt: skip
def test_what_is_not_of_the_format_has_a_reason(
    tmp_path: Path, name: str, content: str, expected: str
) -> None:
    """A file without speech is empty, and one that is not what its name says is refused."""
    assert reason(tmp_path / name, content).startswith(expected)
    assert reason(tmp_path / name, content)


def test_a_notebook(tmp_path: Path) -> None:
    """Texts, code with its language and printed outputs of a notebook of nbformat are read; pictures are not."""
    nb: Any = nbformat.v4
    write: Callable[..., str] = nbformat.writes
    code = nb.new_code_cell("plot(x)", outputs=[
        nb.new_output("stream", text="done\n"),
        nb.new_output("display_data", data={"image/png": "iVBOR" * 100, "text/plain": "<Figure>"}),
        nb.new_output("error", ename="ValueError", evalue="too big", traceback=["\x1b[31mlong"]),
    ])  # fmt: skip
    notebook = nb.new_notebook(
        cells=[nb.new_markdown_cell("# Fish\n\nWe count."), code, nb.new_raw_cell("raw")]
    )
    content = only(tmp_path / "a.ipynb", write(notebook))
    assert content.page_content == (
        "# Fish\n\nWe count.\n\n```python\nplot(x)\n```\n\nOutput:\n\n```\ndone\n```\n\nOutput:\n\n"
        "```\n<Figure>\n```\n\nOutput:\n\n```\nValueError: too big\n```\n\nraw"
    )
    assert (content.metadata["title"], content.metadata["cells"]) == ("Fish", 3)
