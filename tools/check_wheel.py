"""Install a wheel in fresh environments, as users would: alone and with extras. Search text and code with each.

Usage: python tools/check_wheel.py dist/sleuth-….whl
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

BYTE_CODE = ".pyc"
LARGEST = 12
MOST_MB = 120
"""Of the core as shipped, with everything that it needs (docs/decisions/core-size.md)."""
WITH_PIP = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")


class Size(NamedTuple):
    """Bytes as shipped, and with byte code."""

    shipped: int = 0
    whole: int = 0


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command without this project's environment; return what it prints, errors included."""
    private = ("PYTHONPATH", "SLEUTH_INDEX", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in private}
    result = subprocess.run(
        command, cwd=cwd, env=env, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


def sizes(site: Path) -> dict[str, Size]:
    """Return the size of each part of site-packages, without pip."""
    parts: dict[str, Size] = {}
    for path in site.rglob("*"):
        name = path.relative_to(site).parts[0].removesuffix(".libs")
        name = "tree-sitter and its grammars" if name.startswith("tree_sitter") else name
        if path.is_file() and not name.startswith(WITH_PIP):
            size, before = path.stat().st_size, parts.get(name, Size())
            shipped = 0 if path.suffix == BYTE_CODE else size
            parts[name] = Size(before.shipped + shipped, before.whole + size)
    return parts


def print_sizes(parts: dict[str, Size]) -> Size:
    """Print the largest parts; return the sum of all."""
    total = Size(sum(size.shipped for size in parts.values()), sum(size.whole for size in parts.values()))
    rows = sorted(parts.items(), key=lambda item: -item[1].shipped)
    for name, size in [("all", total), *rows[:LARGEST]]:
        print(f"{size.shipped / 1e6:8.1f} ({size.whole / 1e6:.1f})  {name}")
    return total


def write_documents(folder: Path) -> None:
    """Write a text, a source of the core's languages, and one of the extra's."""
    folder.mkdir()
    (folder / "tokens.md").write_text("# Limits\n\nTokens are refilled every second.\n")
    (folder / "bucket.py").write_text('def refill(bucket):\n    """Add a token."""\n    bucket.tokens += 1\n')
    (folder / "Cart.kt").write_text("class Cart {\n    fun empty() { println(1) }\n}\n")


def check(wheel: Path, home: Path, extras: str) -> Path:
    """Install the wheel with these extras, index and search; return the folder of the packages."""
    venv.create(home / "env", with_pip=True)
    binaries, work = home / "env" / "bin", home / "work"
    run(binaries / "pip", "install", "--quiet", f"{wheel}{extras}")
    sleuth = binaries / "sleuth"
    write_documents(work)
    report = run(sleuth, "index", "tokens.md", cwd=work)
    assert ("pip install 'sleuth[hybrid]'" in report) == (not extras), report
    assert "tokens.md" in run(sleuth, "search", "how often are tokens refilled", cwd=work)
    report = run(sleuth, "code", "index", ".", cwd=work)
    assert ("1 .kt: not parsed" in report or "Cart.kt: not parsed" in report) == (not extras), report
    assert "refill" in run(sleuth, "code", "search", "add a token to the bucket", cwd=work)
    assert "Cart.kt" in run(sleuth, "code", "search", "empty the cart", cwd=work)
    if extras:
        assert "tokens.md" in run(
            sleuth, "search", "--leg", "dense", "tokens replenished per second", cwd=work
        )
    run(sleuth, "doctor", "--full", cwd=work)
    (site,) = (home / "env" / "lib").glob("python3*/site-packages")
    return site


def main() -> None:
    """Install, search, measure."""
    wheel = Path(sys.argv[1]).resolve()
    for extras in ("", "[hybrid,code]"):
        with tempfile.TemporaryDirectory() as folder:
            site = check(wheel, Path(folder), extras)
            print(f"sleuth{extras}: search and code search work; MB in site-packages (with byte code):")
            total = print_sizes(sizes(site))
            if not extras and total.shipped > MOST_MB * 1e6:
                sys.exit(f"the core must take at most {MOST_MB} MB, got {total.shipped / 1e6:.1f}")


if __name__ == "__main__":
    main()
