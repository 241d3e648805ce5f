"""Plugins are loaded from folders and entry points; failures are listed and do not stop the others."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sleuth.engine import Engine
from sleuth.errors import ArgumentError, PluginError
from sleuth.hooks import Morpheus, load_plugins, unload_plugins
from sleuth.types import Document
from tests.code.conftest import write

HOOK = Path(__file__).with_name("plugin.txt").read_text("utf8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a plugin in a file, one in a folder with a second module, and four that fail."""
    inner = (
        "from sleuth.hooks import hook\n@hook('call')\ndef ask(result, *, rag2f):\n    return result + '?'\n"
    )
    files = {
        "good.py": HOOK, "nested/__init__.py": "from .inner import ask as ask\n", "nested/inner.py": inner,
        "broken.py": "def nothing(:", "needy.py": "import a_package_that_nobody_has",
        "quitter.py": "import sys\nsys.exit(3)", "empty.py": "x = 1",
        "_private.py": "raise RuntimeError('never loaded')", "notes.txt": "no plugin",
    }  # fmt: skip
    return write(tmp_path, files)


def test_folder(folder: Path) -> None:
    """Valid plugins of a folder load, and each failure is listed with its error."""
    registry, instance = Morpheus(), list[Any]()
    infos = {
        info.name: info for info in load_plugins(registry, folder=folder, installed=False, instance=instance)
    }
    assert {name: info.status for name, info in infos.items()} == {
        "broken": "failed", "empty": "failed", "good": "active", "needy": "failed", "nested": "active",
        "quitter": "failed",
    }  # fmt: skip
    assert "SyntaxError" in infos["broken"].error
    assert "a_package_that_nobody_has" in infos["needy"].error
    assert infos["quitter"].error == "SystemExit: 3"
    assert "@hook" in infos["empty"].error
    assert infos["good"].hooks == (("call", 3),)
    assert infos["good"].origin == str(folder / "good.py")
    assert registry.plugins["good"] is infos["good"]
    assert registry.execute_hook("call", "hey", rag2f=None) == "HEY?"
    assert instance == [("on", "good")]
    assert infos["needy"].to_dict()["status"] == "failed"
    assert "sleuth_plugin_broken" not in sys.modules


def test_activation_that_fails_takes_the_hooks_away(tmp_path: Path) -> None:
    """A plugin whose `activated` raises is failed, and its hooks are removed."""
    (tmp_path / "shy.py").write_text(HOOK)
    registry = Morpheus()
    (info,) = load_plugins(registry, folder=tmp_path, installed=False, instance=None)
    assert info.status == "failed"
    assert "AttributeError" in info.error
    assert registry.hooks("call") == ()


def test_folder_without_init_is_listed_as_failed(tmp_path: Path) -> None:
    """A folder with modules but no `__init__.py`, and a link to nothing, fail; a folder of other files does not."""
    write(tmp_path, {"acl/filter.py": HOOK, "deep/src/filter.py": HOOK, "templates/page.html": "no plugin"})
    (tmp_path / "lost.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "missing").symlink_to(tmp_path / "nowhere")
    registry = Morpheus()
    infos = {info.name: info for info in load_plugins(registry, folder=tmp_path, installed=False)}
    assert {name: info.status for name, info in infos.items()} == dict.fromkeys(
        ("acl", "deep", "lost", "missing"), "failed"
    )
    assert "must hold an __init__.py that imports its hooks" in infos["acl"].error
    assert registry.plugins["acl"].origin == str(tmp_path / "acl" / "__init__.py")
    (tmp_path / "acl" / "__init__.py").write_text("from .filter import *\n")
    plugins = load_plugins(Morpheus(), folder=tmp_path, installed=False, instance=[])
    assert next(info.hooks for info in plugins if info.name == "acl") == (("call", 3),)


def test_unload(folder: Path) -> None:
    """Unloading calls `deactivated` and removes the hooks."""
    registry, instance = Morpheus(), list[Any]()
    load_plugins(registry, folder=folder, installed=False, instance=instance)
    unload_plugins(registry, instance)
    assert instance == [("on", "good"), ("off", "good")]
    assert registry.hooks("call") == ()
    assert registry.plugins["good"].status == "inactive"
    unload_plugins(registry, instance)
    assert len(instance) == 2


def test_failure_to_deactivate_is_raised_after_all(tmp_path: Path) -> None:
    """All plugins are deactivated before the first failure is raised."""
    off = "from sleuth.hooks import plugin\n@plugin\ndef deactivated(plugin, instance):\n"
    (tmp_path / "a.py").write_text(f"{off}    instance.append('a')\n")
    (tmp_path / "b.py").write_text(f"{off}    1 / 0\n")
    registry, instance = Morpheus(), list[Any]()
    load_plugins(registry, folder=tmp_path, installed=False)
    with pytest.raises(PluginError, match="b: ZeroDivisionError") as caught:
        unload_plugins(registry, instance)
    assert caught.value.plugin == "b"
    assert instance == ["a"]


def test_entry_points(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed plugins come first; one with the same name in the folder is listed as failed."""
    metadata = "Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.2\n"
    points = (
        "[sleuth.plugins]\ngood = installed_plugin\nmissing = no_such_module\nodd = installed_plugin:shout\n"
    )
    site = write(folder / "site", {"installed_plugin.py": HOOK})
    write(site / "a_plugin-1.2.dist-info", {"METADATA": metadata, "entry_points.txt": points})
    monkeypatch.syspath_prepend(str(site))
    registry = Morpheus()
    load_plugins(registry, folder=folder, instance=[])
    assert registry.plugins["good"].origin == "a-plugin 1.2"
    assert registry.plugins["good"].status == "active"
    assert "no_such_module" in registry.plugins["missing"].error
    assert "must be a module" in registry.plugins["odd"].error
    second = registry.plugins[f"good ({folder / 'good.py'})"]
    assert (second.status, second.error) == ("failed", "a plugin named 'good' is loaded from a-plugin 1.2")
    assert len([one for one in registry.hooks("call") if one.plugin == "good"]) == 1


def test_folder_must_exist(tmp_path: Path) -> None:
    """A missing folder raises an error that names it."""
    with pytest.raises(ArgumentError, match=r"plugins folder must be a folder that exists, got '.*nowhere'"):
        load_plugins(Morpheus(), folder=tmp_path / "nowhere", installed=False)


def test_whatever_a_plugin_raises_stays_with_it(tmp_path: Path) -> None:
    """A plugin that raises CancelledError or a Sleuth error is listed; hooks of others stay."""
    for name, text in {
        "ends_task": "import asyncio\nraise asyncio.CancelledError()",
        "sleuth": "from sleuth.hooks import hook\n@hook\ndef shout(result, *, rag2f): ...",
        "waits": "from sleuth.hooks import plugin\n@plugin\nasync def activated(plugin, instance): ...",
        "well": "from sleuth.hooks import hook\n@hook\ndef shout(result, *, rag2f): ...",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    registry = Morpheus()
    registry.on("shout", lambda result, *, rag2f: None, plugin="sleuth")
    registry.on("shout", lambda result, *, rag2f: None, plugin="ends_task")
    errors = {
        info.name: (info.status, info.error)
        for info in load_plugins(registry, folder=tmp_path, installed=False)
    }
    assert {name: status for name, (status, _) in errors.items()} == {
        "ends_task": "failed", "sleuth": "failed", "waits": "failed", "well": "active",
    }  # fmt: skip
    assert "plain function" in errors["waits"][1]
    assert [one.plugin for one in registry.hooks("shout")] == ["sleuth", "ends_task", "well"]


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


def test_the_template_installs(hybrid: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The template, installed as a package, is found by its entry point, and its four hooks work."""
    shutil.copytree(TEMPLATE, tmp_path / "template")
    site = tmp_path / "site"
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run(
        [sys.executable, "-m", "pip", *install, str(tmp_path / "template")], check=True, timeout=300
    )
    monkeypatch.syspath_prepend(str(site))
    hybrid.add(
        [Document("The database is old.", {"year": 2019}), Document("A new database.", {"year": 2025})]
    )
    info = hybrid.morpheus.plugins["glossary"]
    assert (info.status, info.origin) == ("active", "sleuth-glossary 0.1.0")
    result = hybrid.search("db", return_mode="with_items", style="list")
    assert result.response == "* A new database.\n* The database is old."
    assert hybrid.search("define TTL").used_source_ids == ["glossary/TTL"]
