"""Which files do the peers of code search give for a description? Over files laid out on disk, as they want them.

semble ranks chunks by BM25, and by BM25 and static vectors fused; its own model is a download, so it is given the
vectors of Sleuth's default embedder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.code_collections import Task

ALPHAS = {"semble, words": 0.0, "semble, hybrid": None}
"""What semble weighs its vectors with; None for its own choice."""
CHUNKS = 100


def lay_out(files: Sequence[tuple[str, str]], folder: Path) -> None:
    """Make `folder` hold these files and no others; those that are there already stay untouched."""
    contents = {folder / path: text.encode("utf-8", "replace") for path, text in files}
    for leftover in [path for path in folder.rglob("*") if path.is_file() and path not in contents]:
        leftover.unlink()
    for path, text in contents.items():
        if not path.is_file() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)


def static_model(folder: Path) -> str:
    """The vectors of the default embedder as a folder that model2vec reads; made once."""
    home = folder / "model"
    if not home.exists():
        from model2vec import StaticModel
        from tokenizers import Tokenizer

        from sleuth.dense.wordllama import VOCABULARY, load_model

        spec = find_spec("wordllama")
        assert spec is not None
        assert spec.submodule_search_locations
        tokenizer = Tokenizer.from_file(str(Path(spec.submodule_search_locations[0]) / VOCABULARY))
        table: NDArray[np.float32] = np.asarray(load_model().table, np.float32)
        StaticModel(table, tokenizer, normalize=True).save_pretrained(str(home))
    return str(home)


def semble_places(
    files: Sequence[tuple[str, str]], tasks: Sequence[Task], work: Path
) -> dict[str, list[tuple[NDArray[np.int64], int]]]:
    """Places of the gold files of each task, by how semble searches; with the number of gold files there are not."""
    os.environ |= {"XDG_CACHE_HOME": str(work.resolve() / "cache"), "HF_HUB_OFFLINE": "1"}
    from semble import SembleIndex
    from semble.types import ContentType

    lay_out(files, work / "files")
    contents = (ContentType.CODE, ContentType.DOCS, ContentType.CONFIG)
    index: Any = SembleIndex.from_path(work / "files", content=contents, model_path=static_model(work.parent))
    places_by_alpha: dict[str, list[tuple[NDArray[np.int64], int]]] = {name: [] for name in ALPHAS}
    for task in tasks:
        for name, alpha in ALPHAS.items():
            hits = index.search(task.text, top_k=CHUNKS, alpha=alpha)
            order = list(dict.fromkeys(hit.chunk.file_path for hit in hits))
            places = [order.index(path) if path in order else 10**6 for path in sorted(task.gold)]
            places_by_alpha[name].append((np.array(places), 0))
    return places_by_alpha
