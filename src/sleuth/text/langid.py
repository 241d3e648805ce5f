"""The language model of py3langid, read without its code and left in a file.

The model is a naive Bayes classifier over byte n-grams: an automaton finds the n-grams of a text, and a table has their
log probabilities by language. The package holds 75 MB once its model is loaded, and more while it loads. Here the model
is unpacked into a file without a name, of which rows are read and kept as texts need them. Answers are those of the
package (a test compares them).
"""

from __future__ import annotations

import lzma
import os
import shutil
import unicodedata
import weakref
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth import platform
from sleuth.errors import LoadError

MODEL: Final = "data/model.npz.xz"
_ROWS: Final = 1 << 13
"""Rows of each table that are kept, of 1 kB and less."""
_BYTE_VALUES: Final = 256
_FORMATS: Final[dict[str, Any]] = {"e": "H", "H": "H", "I": "I", "i": "i"}
"""Formats that a buffer can be read as, by numpy's: half precision as its bits."""
_PIECE: Final = 1 << 20
_LOCAL_HEADER: Final = 30
"""Bytes of the header of a member of a ZIP file before its name. The last four are the lengths of its name and of the
fields after it."""


class LanguageModel:
    """The automaton and the probabilities of a model. Safe to share.

    Args:
        path: of the packed model.

    Raises:
        LoadError: it is not laid out as that of py3langid 0.4.
    """

    def __init__(self, path: Path) -> None:
        with TemporaryFile() as file, lzma.open(path) as packed:
            shutil.copyfileobj(packed, file, _PIECE)
            fd = os.dup(file.fileno())
            weakref.finalize(self, os.close, fd)
            try:
                with zipfile.ZipFile(file) as archive:
                    self._languages: list[str] = _array(archive, "classes").tolist()
                    self._priors: NDArray[np.float32] = _array(archive, "pc")
                    self._row_of_state = _numbers(_array(archive, "nextmove_row"))
                    self._feature_of_state = _numbers(_array(archive, "out_feat"))
                    self._moves = _Table(fd, archive, "nextmove", _BYTE_VALUES)
                    self._likelihoods = _Table(fd, archive, "ptc", len(self._languages))
            except (KeyError, ValueError, zipfile.BadZipFile) as error:
                raise LoadError(str(path), f"it holds no model of py3langid 0.4: {error}") from error

    def classify(self, text: str) -> str:
        """Return the code of the likeliest language; "" for a text without a known n-gram."""
        content = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
        counts = self._count(content.encode("utf-8", "surrogatepass"))
        if not counts:
            return ""
        times = np.fromiter(counts.values(), np.float32, len(counts))
        rows = np.frombuffer(b"".join(map(self._likelihoods.__getitem__, counts)), self._likelihoods.dtype)
        scores = np.log1p(times) @ rows.reshape(len(counts), -1) + self._priors
        return self._languages[int(scores.argmax())]

    def _count(self, content: bytes) -> dict[int, int]:
        """Count the n-grams of the model in a text, in order of their first places."""
        moves, rows, features = self._moves, self._row_of_state, self._feature_of_state
        counts: dict[int, int] = {}
        state = 0
        for byte in content:
            state = moves[rows[state]][byte]
            feature = features[state]
            if feature >= 0:
                counts[feature] = counts.get(feature, 0) + 1
        return counts


class _Table(dict[int, memoryview]):
    """Rows of a matrix in an archive of a file, read as they are asked for; all are forgotten once they are many.

    Args:
        width: values of a row.

    Raises:
        ValueError: it is compressed.
    """

    def __init__(self, fd: int, archive: zipfile.ZipFile, name: str, width: int) -> None:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{info.filename} is compressed")
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            _, _, self.dtype = read(member)
            npy_header = member.tell()
        self._fd = fd
        # Find where the matrix's values start in the file: after the member's local header, whose name and extra field
        # may differ in length from the directory's, and after numpy's own header.
        lengths = platform.read_at(self._fd, 4, info.header_offset + _LOCAL_HEADER - 4)
        name_and_extra = int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
        self._start = info.header_offset + _LOCAL_HEADER + name_and_extra + npy_header
        self._size = width * self.dtype.itemsize

    def __missing__(self, row: int) -> memoryview:
        if len(self) >= _ROWS:
            self.clear()
        content = platform.read_at(self._fd, self._size, self._start + row * self._size)
        self[row] = values = memoryview(content).cast(_FORMATS[self.dtype.char])
        return values


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as member:
        array: NDArray[Any] = np.load(member)
        return array


def _numbers(array: NDArray[Any]) -> memoryview:
    """Return an array's values as Python integers, which cost a loop less than those of numpy."""
    return memoryview(array.tobytes()).cast(_FORMATS[array.dtype.char])


@cache
def language_model() -> LanguageModel:
    """Return the model of the installed package, which takes half a second to unpack, once."""
    spec = find_spec("py3langid")
    if spec is None or not spec.submodule_search_locations:
        raise LoadError("py3langid", "it is not installed: pip install 'py3langid>=0.4,<0.5'")
    return LanguageModel(Path(spec.submodule_search_locations[0], MODEL))
