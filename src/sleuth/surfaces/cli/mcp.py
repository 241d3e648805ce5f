"""sleuth mcp: serves documents and code to agents over the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sleuth.surfaces.cli.app import mcp_commands
from sleuth.surfaces.cli.common import IndexOption
from sleuth.surfaces.cli.defaults import synonyms_file
from sleuth.surfaces.cli.places import NAME, index_folder

EXAMPLES = """[bold]Examples[/bold]

  sleuth mcp                                 serve the index of this folder on standard input and output

  claude mcp add sleuth -- sleuth mcp        add it to an agent; `sleuth mcp install` does it for some
"""

RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root", help="The worktree or folder that answers are about. Default: the current folder."
    ),
]


@mcp_commands.command("serve", epilog=EXAMPLES)
def serve(
    root: RootOption = None,
    refresh: Annotated[
        bool, typer.Option("--refresh/--no-refresh", help="Index files that changed, in the background.")
    ] = True,
    no_index: Annotated[
        bool,
        typer.Option(
            "--no-index", help="Do not index the folder at the first call where nothing is indexed."
        ),
    ] = False,
    index: IndexOption = None,
) -> None:
    """Serve documents and code to an agent on standard input and output, until it closes them."""
    from sleuth.errors import MissingPackageError

    try:
        from sleuth.surfaces.mcp.stdio import serve as serve_stdio
    except ImportError as error:
        if error.name not in ("mcp", "mcp_types", "anyio"):
            raise
        raise MissingPackageError("mcp", "mcp", "sleuth mcp") from error
    from sleuth.surfaces.mcp.workspace import Workspace

    if root is not None:
        os.chdir(root)
    # An index that is named without a root answers for all that it holds, not for the current folder.
    has_own_index = index is not None and root is None
    folder, cwd = index_folder(index), Path.cwd()
    if index is None and folder == cwd / NAME and not folder.exists():  # of the whole worktree
        folder = next((up for up in (cwd, *cwd.parents) if (up / ".git").exists()), cwd) / NAME
    serve_stdio(
        Workspace(
            folder,
            root=None if has_own_index else cwd,
            refresh=refresh,
            index_first=not no_index,
            synonyms=synonyms_file(),
        )
    )
