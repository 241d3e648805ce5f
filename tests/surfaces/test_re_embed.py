"""`sleuth index --re-embed` replaces an embedder as its advice says."""

import shlex
from pathlib import Path

from tests.commands import sleuth


def test_the_advice_of_a_refusal_works(tmp_path: Path) -> None:
    """The error of a refused embedder has the command that accepts it, which reads no files."""
    (tmp_path / "limits.md").write_text("Tokens are refilled every second.\n")
    assert sleuth("index", "limits.md", "--index", "my index", "--embedder", "", cwd=tmp_path).returncode == 0
    refused = sleuth("index", "limits.md", "--index", "my index", "--embedder", "wordllama", cwd=tmp_path)
    command = refused.stderr.strip().rpartition("embed everything again: ")[2]
    assert command == "sleuth index --index 'my index' --re-embed --embedder wordllama"
    process = sleuth(*shlex.split(command)[1:], cwd=tmp_path)
    assert (process.returncode, process.stdout) == (0, "1 document, 1 passage in my index\n"), process.stderr
    assert sleuth("search", "refilled", "--index", "my index", "--leg", "dense", cwd=tmp_path).returncode == 0
    assert sleuth("index", "--index", "nowhere", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "nowhere").exists()
