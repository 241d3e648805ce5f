"""Loader of Jupyter notebooks: texts, code and what the code printed, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sleuth.errors import LoadError
from sleuth.files.notebooks import read_notebook, source_of, text_of
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.loaders.plain import document
from sleuth.ingest.options import ReadOptions
from sleuth.text.outline import Outline
from sleuth.types import Document

_OUTPUT: Final = 2_000
"""Characters of one output that are read: the rest of a long one is more of the same."""
_colour = re.compile(r"\x1b\[[0-9;]{0,20}m")


def load_notebook(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the cells as Markdown, titled by the first heading. Pictures and other data in outputs are left out."""
    text, metadata = file.text()
    try:
        notebook = read_notebook(text)
        parts = [part for cell in notebook.cells for part in _parts(cell, notebook.language)]
    except RecursionError:
        raise LoadError(file.entry.source, "nested too deeply", kind="limits") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise LoadError(file.entry.source, f"not readable as a notebook: {error!r}") from error
    body = "\n\n".join(filter(None, parts))
    paths = Outline(body, "markdown").paths
    title = {"title": paths[0]} if paths else {}
    yield document(file, body, {**title, "cells": len(notebook.cells), **metadata})


def _parts(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield the source of a cell, and its outputs."""
    source = source_of(cell).strip("\n")
    kind = cell.get("cell_type")
    if kind == "heading":
        yield f"{'#' * int(cell.get('level', 1))} {source}"
    elif kind != "code":
        yield source
    elif source.strip():
        yield f"```{language}\n{source}\n```"
    for output in cell.get("outputs", ()):
        printed = _colour.sub("", _printed(output)).strip("\n")
        if printed.strip():
            shortened = printed[:_OUTPUT] + ("\n…" if len(printed) > _OUTPUT else "")
            yield f"Output:\n\n```\n{shortened}\n```"


def _printed(output: Mapping[str, Any]) -> str:
    if output.get("ename"):
        return f"{output['ename']}: {output.get('evalue', '')}"
    data = output.get("data", {})
    return text_of(output.get("text") or data.get("text/markdown") or data.get("text/plain") or "")
