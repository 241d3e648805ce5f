"""sleuth doctor config: prints the defaults that apply, and where they come from."""

from __future__ import annotations

import json as json_format
import os
from typing import Any

from sleuth.surfaces.cli.app import doctor_commands
from sleuth.surfaces.cli.common import JsonOption, print_json
from sleuth.surfaces.cli.defaults import Setting, files, settings
from sleuth.surfaces.cli.terminal import say, styled

ENVIRONMENT = {"SLEUTH_INDEX": "index", "SLEUTH_MODEL": "model"}
"""Variables that stand above the files."""


@doctor_commands.command("config", epilog="[bold]Example[/bold]  sleuth doctor config")
def config(json: JsonOption = False) -> None:
    """Show the defaults that sleuth.toml and the environment set here."""
    paths = [str(file) for file, _ in files()]
    values = settings() | {
        name: Setting(os.environ[variable], f"${variable}")
        for variable, name in ENVIRONMENT.items()
        if os.environ.get(variable)
    }
    if json:
        print_json({"files": paths, "settings": {name: entry._asdict() for name, entry in values.items()}})
        return
    for file in paths:
        say(f"reads {file}")
    for name, entry in values.items():
        say(f"{styled(name, 'head')} = {written(entry.value)}  {styled(entry.origin, 'dim')}")
    if not values:
        say("No defaults are set: each option has its own.")


def written(value: Any) -> str:
    """Return a value as TOML writes it."""
    return json_format.dumps(value, ensure_ascii=False)
