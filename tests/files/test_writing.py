"""Files that are written as a whole."""

import stat
from pathlib import Path

import pytest

from sleuth.files import whole_file


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_replaced_at_the_end(tmp_path: Path, durable: bool) -> None:
    """Readers see the old content until the block ends, then all of the new one; only its owner may read it."""
    path = tmp_path / "keys.json"
    path.write_text("old")
    with whole_file(path, durable=durable) as out:
        out.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]


def test_a_failure_leaves_the_old_file_alone(tmp_path: Path) -> None:
    """Nothing of the new one stays."""
    path = tmp_path / "keys.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(path) as out:
        out.write(b"half")
        raise ZeroDivisionError
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("keys.json", "old")]
