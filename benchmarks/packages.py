"""Downloads packages of Debian and PyPI to test on, once each, into .data/packages. Nothing is installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[1] / ".data"
PACKAGES: Final = DATA / "packages"


def unpacked(package: str) -> Path:
    """Return the folder with the files of a package, which is downloaded where it is missing.

    Args:
        package: "deb:NAME" of Debian, "source:NAME" of its sources, "wheel:NAME" and "sdist:NAME" of PyPI.

    Raises:
        SystemExit: it cannot be downloaded; the message says why, and what to do.
    """
    kind, _, name = package.partition(":")
    folder = PACKAGES / (f"{name}-{kind}" if kind in ("source", "sdist") else name)
    if not folder.is_dir():
        PACKAGES.mkdir(parents=True, exist_ok=True)
        partial = folder.with_suffix(".partial")
        partial.mkdir(exist_ok=True)
        try:
            _UNPACK[kind](name, partial)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"cannot download the package {package!r}: {error}\n{_ADVICE[kind]}")
        partial.rename(folder)
    return folder


def _binary(name: str, folder: Path) -> None:
    subprocess.run(["apt-get", "download", "-q", name], cwd=PACKAGES, check=True)
    subprocess.run(["dpkg-deb", "-x", next(PACKAGES.glob(f"{name}_*.deb")), folder], check=True)


def _source(name: str, folder: Path) -> None:
    """Unpack what the authors released, without what Debian adds."""
    process = subprocess.run(
        ["apt-get", "source", "--print-uris", "-q=2", name], check=True, capture_output=True, text=True
    )
    (address, file), *_ = re.findall(r"(?m)^'(.*)' (\S+\.orig\.tar\.\w+) ", process.stdout)
    if not (PACKAGES / file).is_file():
        subprocess.run(["curl", "-sSf", "-o", file, address], cwd=PACKAGES, check=True)
    _untar(PACKAGES / file, folder)


def _wheel(name: str, folder: Path) -> None:
    _pip_download(name)
    with zipfile.ZipFile(next(PACKAGES.glob(f"{name.replace('-', '_')}-*.whl"))) as archive:
        archive.extractall(folder)  # noqa: S202 - a wheel from the registry that pip trusts


def _sdist(name: str, folder: Path) -> None:
    _pip_download(name, "--no-binary", ":all:")
    _untar(next(PACKAGES.glob(f"{name.replace('-', '[-_]')}-*.tar.gz")), folder)


def _pip_download(name: str, *options: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *options]
    subprocess.run([*command, "-d", str(PACKAGES), name], check=True)


def _untar(archive: Path, folder: Path) -> None:
    """Unpack the plain files of an archive; links are left out."""
    with tarfile.open(archive) as members:
        members.extractall(folder, [member for member in members if member.isfile()], filter="data")


_PIP: Final = "check that `pip download` reaches a registry"
_ADVICE: Final = {
    "deb": "run `apt-get update` first, on Debian or a system made from it",
    "source": "add `deb-src` lines to the sources of apt, and run `apt-get update`",
    "wheel": _PIP,
    "sdist": _PIP,
}
_UNPACK: Final = {"deb": _binary, "source": _source, "wheel": _wheel, "sdist": _sdist}
