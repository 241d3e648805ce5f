"""Writes the golden index of the format that this version writes: python -m tests.code.golden.make

An index that is there stays as it is: it is what that version wrote.
"""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from sleuth.code import index_path
from sleuth.code.snapshots import record
from sleuth.engine import open_code

HERE = Path(__file__).parent
PLACE = "/golden"
"""The path that the index has for its repository."""
COMMITS = (
    ("Add a bucket of tokens", {"bucket.py": "def take():\n    return 1\n\n\ndef refill():\n    return 2\n"}),
    ("Try again after a timeout", {"retry.py": "from bucket import take\n\nTRIES = 3\n"}),
)


def lay_out(root: Path) -> list[str]:
    """Commit the files of the golden index, with the ids that they had; the ids, oldest first."""
    settings = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for role in ("AUTHOR", "COMMITTER"):
        settings |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@b"}
        settings |= {f"GIT_{role}_DATE": "2026-01-02T03:04:05Z"}
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | settings

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, env=env).stdout.decode().strip()

    git("init", "-q", "-b", "main")
    ids = []
    for message, files in COMMITS:
        for name, text in files.items():
            (root / name).write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", message)
        ids.append(git("rev-parse", "HEAD"))
    return ids


def main() -> None:
    """Write it."""
    folder = HERE / f"format-{record.FORMAT}"
    if folder.exists():
        raise SystemExit(f"{folder} is there already")
    with TemporaryDirectory() as place:
        root = Path(place).resolve()
        ids = lay_out(root)
        with open_code(folder, create=True) as storage:
            for id in ids:
                index_path(storage, root, revision=id)
        with closing(sqlite3.connect(folder / "code.db")) as connection:
            connection.execute("UPDATE repositories SET path = ?", (PLACE,))
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("code.lock", "code.queue", ".gitignore"):  # the last one would keep the index out of git
        (folder / name).unlink()


if __name__ == "__main__":
    main()
