"""What docs/scale.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_example_of_shards_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example makes an index of four shards, finds a passage and opens it again."""
    (example,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(GUIDE), "exec"), {})  # noqa: S102 - our own guide
    assert capsys.readouterr().out.split() == ["limits.md#0", "4"]
