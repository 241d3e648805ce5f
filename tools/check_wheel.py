"""Install a wheel in a fresh environment, as a user would, and search text and code with it.

Usage: python tools/check_wheel.py dist/sleuth-….whl
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

BYTE_CODE = ".pyc"
LARGEST = 12


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command without this project's environment; return what it prints."""
    hidden = ("PYTHONPATH", "SLEUTH_INDEX", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def sizes(site: Path) -> dict[str, tuple[int, int]]:
    """Return bytes of each part of site-packages, as shipped and with byte code, without pip."""
    parts: dict[str, tuple[int, int]] = {}
    for path in site.rglob("*"):
        name = path.relative_to(site).parts[0].removesuffix(".libs")
        name = "tree-sitter and its grammars" if name.startswith("tree_sitter") else name
        if path.is_file() and not name.startswith(("pip", "setuptools", "pkg_resources", "_distutils_hack")):
            size = path.stat().st_size
            shipped, whole = parts.get(name, (0, 0))
            parts[name] = (shipped + (0 if path.suffix == BYTE_CODE else size), whole + size)
    return parts


def main() -> None:
    """Install, search, measure."""
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        binaries = home / "env" / "bin"
        run(binaries / "pip", "install", "--quiet", wheel)
        sleuth = binaries / "sleuth"
        work = home / "work"
        work.mkdir()
        (work / "tokens.md").write_text("# Limits\n\nTokens are refilled every second.\n")
        (work / "bucket.py").write_text(
            'def refill(bucket):\n    """Add a token."""\n    bucket.tokens += 1\n'
        )
        run(sleuth, "index", "tokens.md", cwd=work)
        assert "tokens.md" in run(sleuth, "search", "how often are tokens refilled", cwd=work)
        run(sleuth, "code", "index", ".", cwd=work)
        assert "refill" in run(sleuth, "code", "search", "add a token to the bucket", cwd=work)
        (site,) = (home / "env" / "lib").glob("python3*/site-packages")
        parts = sizes(site)
        print("search and code search work from the wheel; MB in site-packages, as shipped (with byte code):")
        rows = sorted(parts.items(), key=lambda item: -item[1][0])
        total = tuple(sum(value[at] for value in parts.values()) for at in (0, 1))
        for name, (shipped, whole) in [("all", total), *rows[:LARGEST]]:
            print(f"{shipped / 1e6:8.1f} ({whole / 1e6:.1f})  {name}")


if __name__ == "__main__":
    main()
