"""The process that reads fuzzed inputs as the program reads small files: `python -m tests.fuzz.reader BYTES`.

Time and memory are bounded by the kernel, so that an input that needs more ends this process instead of the test.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sleuth.code.parsing.analyse import Analyser
from sleuth.errors import LoadError
from sleuth.files.serving import serve
from sleuth.ingest import FileEntry, ReadOptions, Skipped
from sleuth.ingest.loaders.file import kind_of, load_here
from sleuth.ingest.validate import prepare, with_language
from sleuth.text.chunkers import Chunker
from sleuth.types import Document

FOLDER = Path(tempfile.mkdtemp(prefix="sleuth-fuzz-"))
CHUNKER = Chunker()
OPTIONS = ReadOptions(all=True)


def read_document(name: str, data: bytes) -> int:
    """Read a file with its loader, find its language, cut it and prepare it for the index; count the chunks."""
    path = FOLDER / name
    path.write_bytes(data)
    entry = FileEntry(str(path), str(path), len(data), 0)
    kind = kind_of(name, data[:8192])
    chunks = 0
    for item in load_here(entry, kind, OPTIONS):
        if isinstance(item, Document):
            item.metadata = {"source": str(path), "path": name, "type": kind, **item.metadata}
            document = with_language(item)
            prepare(document)
            chunks += len(CHUNKER.split(document))
        else:
            assert isinstance(item, Skipped)
    return chunks


def answers(request: Mapping[str, Any], data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the outcome of reading a file: the number of chunks, or the error."""
    began = time.process_time()
    answer: dict[str, Any]
    try:
        if request["reader"] == "code":
            analysed = ANALYSER.analyse(request["name"], data)
            chunks = len(analysed.chunk_texts.get("body", ()))
            answer = {"chunks": chunks, "skip": analysed.skip or analysed.failure}
        else:
            answer = {"chunks": read_document(request["name"], data)}
    except LoadError as error:
        answer = {"skip": error.reason}
    except Exception as error:  # noqa: BLE001 - whatever escapes is what the fuzzer looks for
        answer = {"untyped": f"{type(error).__name__}: {error}", "spent": True}
    yield {**answer, "seconds": time.process_time() - began}, b""


if __name__ == "__main__":
    with Analyser() as ANALYSER:
        read_document("warm.md", b"---\na: 1\n---\n# Words\n\nSome words.\n")
        read_document("warm.csv", b"a,b\n1,2\n")
        ANALYSER.analyse("warm.py", b"def f(): pass\n")
        serve(int(sys.argv[1]), answers)
