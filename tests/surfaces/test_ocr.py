"""`sleuth index --ocr` has a program read pages without text."""

import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from tests.ingest.files import placed_pdf


def test_the_command_is_read_as_a_shell_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotations hold arguments together; one without an end is refused before anything is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLEUTH_INDEX", raising=False)
    Path("a.pdf").write_bytes(placed_pdf([[]], pictures=(0,)))
    command = shlex.join([sys.executable, "-c", "print('An ocelot sleeps here')"])
    register(["index"])
    with pytest.raises(ArgumentError, match="--ocr must be a command as a shell reads it, got"):
        CliRunner().invoke(app, ["index", "a.pdf", "--ocr", "tesseract 'eng"], catch_exceptions=False)
    assert not Path(".sleuth").exists()
    result = CliRunner().invoke(
        app, ["index", "a.pdf", "--embedder", "", "--ocr", command], catch_exceptions=False
    )
    assert result.output.startswith("1 added")
