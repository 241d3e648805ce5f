"""Programs that recover damaged databases, for tests: SQLite's own, and a stand-in where that is not installed.

The stand-in prints the rows that SQLite still reads, by key from both ends of each table, in the form of `.recover`. It
is weaker than the real program: it reads no page without the pages that lead to it.
"""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = ["sqlite3", "stand-in"]
LOST = "the program sqlite3 with .recover is not in PATH"

_STAND_IN = f"""#!{sys.executable}
import sqlite3, sys
*_, file, command = sys.argv
if command == "PRAGMA compile_options":
    print("ENABLE_DBPAGE_VTAB")
    sys.exit()
print("CREATE TRIGGER hostile AFTER INSERT ON documents BEGIN DELETE FROM documents; END;")
connection = sqlite3.connect(f"file:{{file}}?mode=ro", uri=True)
tables = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
for table, sql in tables:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({{table}})")]
    values = " || ', ' || ".join(f"quote({{column}})" for column in columns)
    names = ", ".join(f"'{{column}}'" for column in columns)
    seen = set()
    for order in ("",) if "WITHOUT ROWID" in sql else ("ORDER BY rowid", "ORDER BY rowid DESC"):
        try:
            for (row,) in connection.execute(f"SELECT {{values}} FROM {{table}} NOT INDEXED {{order}}"):
                if row not in seen:
                    seen.add(row)
                    print(f"INSERT OR IGNORE INTO '{{table}}'({{names}}) VALUES ({{row}});")
        except sqlite3.DatabaseError:
            pass
"""


def has_recovery() -> bool:
    """Return whether SQLite's own program is there and can recover."""
    program = shutil.which("sqlite3")
    if program is None:
        return False
    options = subprocess.run(
        [program, ":memory:", "PRAGMA compile_options"], capture_output=True, check=False
    )
    return b"ENABLE_DBPAGE_VTAB" in options.stdout


def stand_in(folder: Path) -> Path:
    """Make the stand-in in a folder, which is returned."""
    program = folder / "sqlite3"
    program.write_text(_STAND_IN)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def provide(name: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let a test find one of `PROGRAMS`, or skip it."""
    if name == "stand-in":
        patch.setenv("PATH", str(stand_in(folder)))
    elif not has_recovery():
        pytest.skip(LOST)
