"""The examples of docs/how-to/cluster.md work as shown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from sleuth.__main__ import main

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md").read_text("utf8")


def run_example_of_shards() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    exec(compile(example, "scale.md", "exec"), {})  # noqa: S102 - our own guide


def test_the_example_of_shards_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example creates an index of four shards, finds a passage and opens the index again."""
    monkeypatch.chdir(tmp_path)
    run_example_of_shards()
    assert capsys.readouterr().out.split() == ["limits.md#0", "4"]


def test_the_commands_of_object_storage_run(
    tmp_path: Path, s3: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command of the guide succeeds, in order, against a server that speaks S3."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLEUTH_CACHE", str(tmp_path / "cache"))
    s3.create_bucket(Bucket="bucket")
    run_example_of_shards()
    (commands,) = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for command in commands.splitlines():
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as leaving:
            main()
        assert leaving.value.code in (0, None), command
    printed = capsys.readouterr().out
    assert "Published version 2" in printed
    assert "Tokens are refilled" in printed
    assert (tmp_path / "copy" / "cluster.json").is_file()
