"""What `sleuth doctor` checks besides the index."""

import re
import tomllib
from pathlib import Path

from sleuth.engine import doctor

ROOT = Path(__file__).parents[2]


def test_every_extra_is_reported() -> None:
    """Each extra for users has all its packages, as pyproject.toml names them, or is reported with its command."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert doctor.EXTRAS.keys() == extras.keys() - {"all", "bench", "dev", "docs"}
    for extra, names in doctor.packages_by_extra().items():
        assert names == [re.split(r"[\s<>=;\[]", line)[0] for line in extras[extra]]
    findings = {finding.subject: finding for finding in doctor.optional_packages()}
    assert findings.keys() == doctor.EXTRAS.keys()
    for extra, finding in findings.items():
        assert finding.level == "ok" or finding.remedy == f"pip install 'sleuth[{extra}]'"


def test_a_missing_index_names_the_command(tmp_path: Path) -> None:
    """The command line's error names `sleuth index` instead of create=True."""
    (finding,) = doctor.index(tmp_path / "none")
    assert (finding.level, finding.message, finding.remedy) == (
        "info", f"no index at {tmp_path / 'none'}", "sleuth index PATH",
    )  # fmt: skip
