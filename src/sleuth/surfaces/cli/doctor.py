"""sleuth doctor: checks the index and the environment, and repairs the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.surfaces.cli.app import doctor_commands
from sleuth.surfaces.cli.common import IndexOption, JsonOption, print_json
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say, styled
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.engine.doctor import Diagnosis

EXAMPLES = """[bold]Examples[/bold]

  sleuth doctor            environment, optional packages, and that every passage is covered
  sleuth doctor --verbose  also what is as it should be: versions, kernels, packages
  sleuth doctor --full     reads every byte and compares checksums
  sleuth doctor --repair   repairs what a full check finds
"""

_STYLES = {"error": "match", "warning": "match", "info": "dim", "ok": "dim"}
"""Style by level, the worst level first."""


@doctor_commands.command("check", epilog=EXAMPLES)
def doctor(
    full: Annotated[bool, typer.Option("--full", help="Also verify every checksum.")] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Repair first: rebuild segments, remove torn rows, recover a damaged record with sqlite3.",
        ),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also print what is as it should be.")] = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Check the index and the environment; say what to do about each problem."""
    from sleuth.engine.doctor import examine, mend

    path = index_folder(index)
    findings = [*(mend(path) if repair else []), *examine(path, full=full)]
    if json:
        print_json([finding.to_dict() for finding in findings])
    else:
        for level in _STYLES if verbose else [level for level in _STYLES if level != "ok"]:
            for finding in findings:
                if finding.level == level:
                    print_finding(finding)
        count = sum(finding.level == "ok" for finding in findings)
        if not verbose:
            say(f"ok      {count} checks passed; --verbose lists them")
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


def print_finding(finding: Diagnosis) -> None:
    """Print one line, and the remedy below it."""
    level = styled(f"{finding.level:<8}", _STYLES[finding.level])
    say(f"{level}{clean_text(finding.subject)}: {clean_text(finding.message)}")
    if finding.remedy:
        say(f"        → {clean_text(finding.remedy)}")
