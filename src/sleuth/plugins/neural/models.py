"""sleuth index models: lists the neural models that are here, and gets one when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.surfaces.cli import (
    Bar,
    Output,
    as_epilog,
    callable_by_options,
    command,
    human_bytes,
    say,
    shows_bytes,
)
from sleuth.surfaces.cli.app import index_commands
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.plugins.neural.folder import ModelFolder

EXAMPLES = """
  sleuth index models                              those that are here
  sleuth index models pull all-MiniLM-L6-v2        gets one, after showing size and licence
  sleuth index docs/ --embedder onnx:all-MiniLM-L6-v2

Models are folders in $SLEUTH_MODELS (~/.local/share/sleuth/models). Nothing is downloaded unless you ask.
"""

models = typer.Typer(name="models", help="List and get neural models.", epilog=as_epilog(EXAMPLES))
index_commands.add_typer(models)


@models.callback(invoke_without_command=True)
@callable_by_options
def list_models(context: typer.Context) -> Output | None:
    """List the models that are here: kind, size and licence."""
    if context.invoked_subcommand is not None:
        return None
    from sleuth.plugins.neural import installed_models
    from sleuth.plugins.neural.folder import models_folder
    from sleuth.plugins.neural.known import KNOWN

    rows = [facts_of(folder) for folder in installed_models()]
    missing_names = [name for name in KNOWN if name not in {row["name"] for row in rows}]
    lines = [
        f"{row['name']}  {row['kind']}, {human_bytes(row['bytes'])}, licence {clean_text(row['licence'])}"
        for row in rows
    ]
    if not rows:
        lines.append(f"No models in {models_folder()}.")
    if missing_names:
        names = ", ".join(missing_names)
        lines.append(f"`sleuth index models pull NAME` gets one of {names}, or OWNER/NAME at the hub.")
    return Output({"folder": str(models_folder()), "models": rows, "known": missing_names}, lines)


def facts_of(folder: ModelFolder) -> dict[str, Any]:
    """Return what is known of a model here, as plain values."""
    return {
        "name": folder.name,
        "kind": folder.kind,
        "bytes": folder.bytes,
        "licence": str(folder.origin.get("licence", "unknown")),
        "path": str(folder.path),
    }


@command(models, "pull", "sleuth index models pull all-MiniLM-L6-v2")
def pull(
    name: Annotated[str, "Of a known model, or OWNER/NAME of one at the hub."],
    *,
    show: Bar,
) -> Output:
    """Get a model from the hub ($HF_ENDPOINT, https://huggingface.co): its files in ONNX, with their checksums."""
    from sleuth.plugins.neural.folder import models_folder
    from sleuth.plugins.neural.pull import find_model, pull_model

    model = find_model(name)
    what = f"{model.repository} at {model.revision[:12]}, {human_bytes(model.bytes)}, licence {model.licence}"
    say(f"Getting {clean_text(what)}, into {models_folder()}", err=True)
    folder = pull_model(model, progress=shows_bytes(show))
    uses = {"cross-encoder": "--rerank ", "sparse encoder": "--legs sparse:"}
    use = uses.get(folder.kind, "--embedder onnx:")
    line = f"{folder.name} is here, checksums are right. Use it with {use}{folder.name}."
    return Output(facts_of(folder), [line])
