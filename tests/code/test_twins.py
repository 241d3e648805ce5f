"""Files of an older version give way to those of a newer one, unless the query names them."""

from pathlib import Path

import pytest

from sleuth.code import CodeRetriever, CodeStorage
from tests.code.conftest import open_project

SOURCE = "int uv_pipe_open(int handle) {\n  /* open the pipe of a process */\n  return handle;\n}\n"
EXTRA = "/* pipe pipe pipe open open process process */\n"
FILES = {
    "src/win/pipe.c": SOURCE + EXTRA, "src/unix/pipe.c": SOURCE, "api/v3/types.c": SOURCE + EXTRA,
    "api/v10/types.c": SOURCE, "alone/v1/types.c": SOURCE,
}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("open the pipe of a process", "api/v10/types.c", "api/v3/types.c"),
        ("open the pipe of a process in v3", "api/v3/types.c", "api/v10/types.c"),
    ],
)
def test_twins_give_way(storage: CodeStorage, tmp_path: Path, query: str, first: str, second: str) -> None:
    """Of two files with the same text, the newer one comes first; a query may name the other."""
    snapshot = open_project(storage, tmp_path / "twins", FILES)
    hits = CodeRetriever(storage, None).retrieve(
        query, snapshot.info.repository, strategy="keyword", per_file=1
    )
    order = [hit.file_path for hit in hits]
    assert order.index(first) < order.index(second)
    factor = {hit.file_path: str(hit.explanation).count("category factor 0.7") for hit in hits}
    assert not factor["alone/v1/types.c"]
    assert not factor["src/win/pipe.c"]
