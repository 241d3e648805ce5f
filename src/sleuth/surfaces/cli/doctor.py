"""sleuth doctor, doctor config and doctor plugins: what is wrong here, what is set, and what is installed."""

from __future__ import annotations

import json as json_format
import os
from pathlib import Path
from typing import Annotated

import typer

from sleuth.extensions import KINDS, extensions
from sleuth.surfaces.cli.app import doctor_commands
from sleuth.surfaces.cli.common import Output, styled
from sleuth.surfaces.cli.defaults import Setting, files, settings
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.cli.places import index_folder
from sleuth.text import clean_text

EXAMPLES = """
  sleuth doctor            environment, optional packages, and that every passage is covered
  sleuth doctor --verbose  also what is as it should be: versions, kernels, packages
  sleuth doctor --full     reads every byte and compares checksums
  sleuth doctor --repair   repairs what a full check finds
"""

_STYLES = {"error": "match", "warning": "match", "info": "dim", "ok": "dim"}
"""Style by level, the worst level first."""


@command(doctor_commands, "check", EXAMPLES)
def doctor(
    *,
    full: Annotated[bool, "Also verify every checksum."] = False,
    repair: Annotated[
        bool, "Repair first: rebuild segments, remove torn rows, recover a damaged record with sqlite3."
    ] = False,
    verbose: Annotated[bool, "Also print what is as it should be."] = False,
    index: Path | None = None,
) -> Output:
    """Check the index and the environment; say what to do about each problem."""
    from sleuth.engine.doctor import examine, mend

    path = index_folder(index)
    findings = [*(mend(path) if repair else []), *examine(path, full=full)]
    by_level = {level: [finding for finding in findings if finding.level == level] for level in _STYLES}
    lines = []
    for level, members in by_level.items():
        for finding in members if verbose or level != "ok" else ():
            head = styled(f"{level:<8}", _STYLES[level])
            lines.append(f"{head}{clean_text(finding.subject)}: {clean_text(finding.message)}")
            if finding.remedy:
                lines.append(f"        → {clean_text(finding.remedy)}")
    if not verbose:
        lines.append(f"ok      {len(by_level['ok'])} checks passed; --verbose lists them")
    return Output([finding._asdict() for finding in findings], lines, found=not by_level["error"])


ENVIRONMENT = {"SLEUTH_INDEX": "index", "SLEUTH_MODEL": "model"}
"""Variables that stand above the files."""


@command(doctor_commands, "config", "sleuth doctor config")
def config() -> Output:
    """Show the defaults that sleuth.toml and the environment set here."""
    paths = [str(file) for file, _ in files()]
    values = settings() | {
        name: Setting(os.environ[variable], f"${variable}")
        for variable, name in ENVIRONMENT.items()
        if os.environ.get(variable)
    }
    lines = [f"reads {file}" for file in paths]
    for name, entry in values.items():
        value = json_format.dumps(entry.value, ensure_ascii=False)  # as TOML writes it
        lines.append(f"{styled(name, 'head')} = {value}  {styled(entry.origin, 'dim')}")
    if not values:
        lines.append("No defaults are set: each option has its own.")
    entries = {name: entry._asdict() for name, entry in values.items()}
    return Output({"files": paths, "settings": entries}, lines)


PLUGINS_EXAMPLES = """
  sleuth doctor plugins                       installed ones, and those in the folder $SLEUTH_PLUGINS
  sleuth doctor plugins --folder ./plugins    also those of a folder
"""


@command(doctor_commands, "plugins", PLUGINS_EXAMPLES)
def plugins(
    *,
    folder: Annotated[
        Path | None, typer.Option("--folder", envvar="SLEUTH_PLUGINS", help="Folder of plugins to list, too.")
    ] = None,
    index: Path | None = None,
) -> Output:
    """List plugins with their hooks, or with their error if they do not load or start; then other extensions."""
    from sleuth.engine.doctor import try_plugins

    infos = try_plugins(index_folder(index), folder)
    has_failed = any(info.status == "failed" for info in infos)
    lines = []
    if not infos:
        where = f" in {os.fspath(folder)}" if folder else ""
        lines.append(f"No plugins are installed{where}. How to write one: docs/how-to/write-a-plugin.md")
    for info in infos:
        failed = info.status == "failed"
        lines.append(
            f"{styled(info.name, 'head')}  {styled(info.origin, 'dim')}{'  failed' if failed else ''}"
        )
        lines += [f"   {info.error}"] if failed else []
        lines += [f"   {name}, priority {priority}" for name, priority in info.hooks]
    others = {kind: list(rows) for kind in KINDS if kind != "plugins" and (rows := extensions(kind))}
    lines += [f"{styled(kind, 'head')}  {', '.join(names)}" for kind, names in others.items()]
    return Output({"plugins": infos, "extensions": others}, lines, found=not has_failed)
