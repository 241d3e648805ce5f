"""The template plugin, and the guide that builds it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sleuth.engine import Engine
from sleuth.types import Document

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "how-to" / "write-a-plugin.md"
TEMPLATE = ROOT / "examples" / "plugin-template"


def test_the_guide_shows_the_template() -> None:
    """The code in the guide equals the code of the template."""
    code = (TEMPLATE / "src" / "sleuth_glossary" / "__init__.py").read_text("utf8")
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf8"), re.DOTALL)
    examples = [part for block in blocks if not block.startswith(">>>") for part in re.split(r"\n\n+", block)]
    assert len(examples) >= 8
    for part in examples:
        assert part.strip() in code


def test_the_template_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The template, installed as a package, is found by its entry point, and its four hooks work."""
    shutil.copytree(TEMPLATE, tmp_path / "template")
    site = tmp_path / "site"
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run(
        [sys.executable, "-m", "pip", *install, str(tmp_path / "template")], check=True, timeout=300
    )
    monkeypatch.syspath_prepend(str(site))
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add(
            [Document("The database is old.", {"year": 2019}), Document("A new database.", {"year": 2025})]
        )
        info = engine.morpheus.plugins["glossary"]
        assert (info.status, info.origin) == ("active", "sleuth-glossary 0.1.0")
        result = engine.search("db", return_mode="with_items", style="list")
        assert result.response == "* A new database.\n* The database is old."
        assert engine.search("define TTL").used_source_ids == ["glossary/TTL"]
