"""Write the manual page and the completions of shells that the wheel installs, from the command line's declarations.

python tools/shell_files.py     # `make reference`; a test compares what it writes with the files
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

from typer._completion_shared import get_completion_script

import sleuth

HOME = Path(__file__).parents[1]
FOLDER = HOME / "share"
REFERENCE = runpy.run_path(str(HOME / "tools" / "reference.py"))


def escaped(text: str) -> str:
    """Return a text as roff has it: no control line, and signs that stay as they are typed."""
    plain = text.replace("\\", "\\\\").replace("-", "\\-").replace("`", "")
    return f"\\&{plain}" if plain[:1] in {".", "'"} else plain


def entries(rows: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a list of terms."""
    for term, meaning in rows.items():
        yield ".TP"
        yield f".B {escaped(term)}"
        yield escaped(meaning)


def manual() -> str:
    """Return the manual page."""
    commands = REFERENCE["commands"]()
    lines = [
        f'.TH SLEUTH 1 "" "Sleuth {sleuth.__version__}" "User Commands"',
        ".SH NAME",
        "sleuth \\- find the passages that answer a question",
        ".SH SYNOPSIS",
        ".B sleuth",
        ".I COMMAND",
        "[OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        "Sleuth searches documents, source code, the web and hosted knowledge bases,",
        "and writes answers that cite them.",
        escaped("Each command has --help with its options and examples."),
        ".SH COMMANDS",
        *entries({name: REFERENCE["sentence"](command.help) for name, command in commands.items()}),
        ".SH EXIT STATUS",
        *entries({str(code): meaning for code, meaning in REFERENCE["EXIT_CODES"]}),
        ".SH ENVIRONMENT",
        *entries(dict(sorted(REFERENCE["VARIABLES"].items()))),
        ".SH FILES",
        *entries(
            {
                ".sleuth": "The index.",
                "sleuth.toml, ~/.config/sleuth/sleuth.toml": "Defaults of the commands.",
            }
        ),
    ]
    return "\n".join(lines) + "\n"


def files() -> dict[str, str]:
    """Return the text of each file by its name."""
    names = {"bash": "bash/sleuth", "zsh": "zsh/_sleuth", "fish": "fish/sleuth.fish"}
    scripts = {
        name: get_completion_script(prog_name="sleuth", complete_var="_SLEUTH_COMPLETE", shell=shell) + "\n"
        for shell, name in names.items()
    }
    return {"man/sleuth.1": manual(), **scripts}


def main() -> None:
    """Write all files."""
    for name, text in files().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, "utf8")


if __name__ == "__main__":
    main()
