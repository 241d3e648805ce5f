"""Skipped files are grouped."""

from sleuth.ingest import Skipped
from sleuth.surfaces.cli.skips import grouped


def test_one_line_for_each_kind_and_reason() -> None:
    """Files are counted by extension, numbers do not separate groups, and a single file is named."""
    skips = [
        *(Skipped(f"/a/{n}.xlsx", "binary", "binary") for n in range(54)),
        *(Skipped(f"/a/{n}.pptx", "binary", "binary") for n in range(49)),
        *(Skipped(f"/a/{n}.docx", "install sleuth[office]", "missing package") for n in range(2)),
        *(Skipped(f"/a/{n}.txt", f"{n},000 bytes, over the limit of 5", "oversized") for n in range(6, 9)),
        *(Skipped(f"/a/x.csv#{n}", "no text in its fields", "row") for n in range(4)),
        *(Skipped(f"/a/{n}", "empty", "empty") for n in range(3)),
        Skipped("/a/b.pdf", "took more than 20 s to read", "limits"),
        Skipped("/a/Makefile", "no permission to read it", "permission"),
    ]
    assert grouped(skips) == [
        "54 .xlsx, 49 .pptx: binary",
        "4 rows: no text in its fields",
        "3 .txt: 6,000 bytes, over the limit of 5, for example",
        "3 empty",
        "2 .docx: install sleuth[office]",
        "/a/b.pdf: took more than 20 s to read",
        "/a/Makefile: no permission to read it",
    ]
