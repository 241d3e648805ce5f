"""Reads a folder that LangChain's FAISS saved: vectors in `index.faiss`, documents in `index.pkl`.

The second file is a pickle, which can run any program when it is read as usual. It is read here by a reader that makes
nothing but dictionaries, lists, texts, numbers and times, and refuses everything else.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sleuth.errors import ArgumentError, StoreError, requires
from sleuth.plugins.importers.stored import StoredVector, StoredVectors
from sleuth.types import Document
from sleuth.vector_store import BATCH

_SHELLS: Final = frozenset({"InMemoryDocstore", "Document"})
"""Classes of LangChain, for which an object without behaviour is made."""
_VALUES: Final = frozenset({"date", "datetime", "time", "timedelta", "timezone"})
"""Classes of `datetime` that are made as they are."""


def read_faiss(path: str | Path, name: str = "index") -> StoredVectors:
    """Return the documents of a folder that `FAISS.save_local` wrote. Their texts are in memory, their vectors are not.

    Args:
        name: of the two files, as `index_name` of `save_local`.

    Raises:
        ArgumentError: no such files, or files of another kind.
        MissingPackageError: faiss is not installed.
    """
    folder = Path(path)
    vectors_file, documents_file = folder / f"{name}.faiss", folder / f"{name}.pkl"
    for file in (vectors_file, documents_file):
        if not file.is_file():
            raise ArgumentError(
                f"path must be a folder of LangChain's FAISS with {file.name}, got {str(path)!r}"
            )
    with requires("faiss-cpu", "imports", "reading FAISS"):
        import faiss
    try:
        index = faiss.read_index(str(vectors_file), faiss.IO_FLAG_MMAP)
    except RuntimeError as error:
        raise ArgumentError(f"{vectors_file} must be an index of FAISS: {_first_line(error)}") from error
    try:
        with documents_file.open("rb") as pickled:
            store, id_by_place = DataUnpickler(pickled).load()
        documents = _fields(store)["_dict"]
        _fields(next(iter(documents.values()), _Shell()))
    except Exception as error:  # whatever a damaged or hostile pickle makes the reader raise
        raise ArgumentError(
            f"{documents_file} must be the documents of LangChain's FAISS: {_first_line(error)}"
        ) from error
    if len(id_by_place) != index.ntotal:
        raise StoreError(
            f"{folder} must hold as many documents as vectors, got {len(id_by_place)} and {index.ntotal}",
            path=str(folder),
        )
    return StoredVectors(str(folder), _rows(index, documents, id_by_place), index.ntotal)


def _rows(index: Any, documents: Mapping[str, Any], id_by_place: Mapping[int, str]) -> Iterator[StoredVector]:
    for start in range(0, index.ntotal, BATCH):
        count = min(BATCH, index.ntotal - start)
        try:
            vectors = index.reconstruct_n(start, count)
        except RuntimeError as error:
            raise StoreError(
                f"this kind of FAISS index does not give its vectors: {_first_line(error)}"
            ) from error
        for place, vector in enumerate(vectors, start):
            id = id_by_place[place]
            fields = _fields(documents[id])
            yield StoredVector(Document(fields["page_content"], dict(fields["metadata"]), id=id), vector)


class _Shell:
    """Stands for an object of LangChain: it has a state and no behaviour."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class DataUnpickler(pickle.Unpickler):
    """Reads values and shells, and no other object."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class of a value, or a shell.

        Raises:
            UnpicklingError: any other class or function.
        """
        if name in _SHELLS and module.partition(".")[0] in (
            "langchain",
            "langchain_core",
            "langchain_community",
        ):
            return _Shell
        if module == "datetime" and name in _VALUES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it holds {module}.{name}, which is not read")


def _fields(shell: _Shell) -> dict[str, Any]:
    """Return the attributes of an object of LangChain, of any version of pydantic or of none."""
    state = shell.state or {}
    fields: dict[str, Any] = state.get("__dict__", state)
    return fields


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
