"""What only POSIX systems have stands in one module, which another one can replace."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sleuth import platform
from tests import portable
from tests.commands import python
from tests.portable import MODULES, NAMES

SRC = Path(__file__).parents[1] / "src" / "sleuth"

KEYWORDS = set("dir_fd dst_dir_fd pass_fds preexec_fn process_group src_dir_fd start_new_session".split())  # noqa: SIM905


def posix_uses(path: Path) -> Iterator[str]:
    """Yield what a module uses that only POSIX systems have."""
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names if node.module in MODULES or each.name in NAMES)
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            is_of_module = isinstance(node.value, ast.Name) and node.value.id in sys.stdlib_module_names
            yield from [node.attr] if is_of_module else []
        elif isinstance(node, ast.keyword) and node.arg in KEYWORDS:
            yield str(node.arg)
        elif isinstance(node, ast.Constant) and str(node.value).startswith(("/proc/", "/sys/")):
            yield repr(node.value)


def test_only_the_platform_uses_what_only_posix_has() -> None:
    """No other module imports or names it, and no kernel but by `platform.h` includes a header of POSIX."""
    uses = {str(path.relative_to(SRC)): set(posix_uses(path)) for path in SRC.rglob("*.py")}
    assert {"fcntl", "pread", "dir_fd", "O_NOFOLLOW", "resource", "setitimer", "killpg"} <= uses.pop(
        "platform.py"
    )
    assert {path: names for path, names in uses.items() if names} == {}
    header = re.compile(r"\bposix\b|unistd\.h|sys/mman\.h|pthread\.h")
    kernels = [path for ending in ("pyx", "pxd", "h") for path in SRC.rglob(f"*.{ending}")]
    assert [path.name for path in kernels if header.search(path.read_text("utf8"))] == ["platform.h"]


def test_a_platform_has_the_same_names() -> None:
    """The portable platform has each public name of the module."""
    for name, value in vars(platform).items():
        if getattr(value, "__module__", "") == platform.__name__ and not name.startswith("_"):
            assert name in vars(portable)


@pytest.mark.parametrize("system", [platform, portable], ids=["posix", "portable"])
def test_files_of_a_platform(system: ModuleType, tmp_path: Path) -> None:
    """Both lock files, read and write at an offset, and open below a folder without following links."""
    file = tmp_path / "file"
    fd = system.open_plain(file, os.O_RDWR | os.O_CREAT)
    assert file.stat().st_mode & 0o077 == 0
    system.write_at(fd, b"some words", 0)
    system.write_at(fd, b"more", 5)
    assert (system.read_at(fd, 4, 5), os.read(fd, 4)) == (b"more", b"some")
    other = system.open_plain(file)
    system.lock(fd)
    with pytest.raises(BlockingIOError):
        system.lock(other, shared=True, wait=False)
    system.lock(fd, shared=True)
    system.lock(other, shared=True, wait=False)
    with pytest.raises(BlockingIOError):
        system.lock(fd, wait=False)
    os.close(other)
    system.lock(fd, wait=False)
    system.unlock(fd)
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "there").symlink_to(tmp_path)
    with pytest.raises(system.UnplainError, match="is a link"):
        system.OpenFolder(tmp_path / "there")
    with system.OpenFolder(tmp_path) as folder:
        for name, kind in (("link", "a link"), ("there", "a link")):
            with pytest.raises(system.UnplainError, match=f"is {kind}"):
                folder.open(name)
        with pytest.raises(FileExistsError):
            folder.open("link", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        folder.rename("file", "renamed")
        assert sorted(folder.names()) == ["link", "renamed", "there"]
        folder.remove("renamed")
        folder.sync()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "there"]
    os.close(fd)


def test_an_index_where_posix_is_missing(tmp_path: Path) -> None:
    """Over the portable platform, an index is made, searched, updated and opened again without what POSIX has."""
    result = python(
        "import sys; from tests import portable; portable.try_index(sys.argv[1])", tmp_path / "index"
    )
    assert result.stdout == "298 {'ok'}\n", result.stderr
