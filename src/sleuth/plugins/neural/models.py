"""sleuth index models: lists the neural models that are here, and gets one when asked."""

from __future__ import annotations

import json as json_format
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.errors import SleuthError
from sleuth.surfaces.cli import JsonOption, download_bar, human_bytes, print_json, say
from sleuth.surfaces.cli.app import index_commands
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.plugins.neural.folder import ModelFolder

EXAMPLES = """[bold]Examples[/bold]

  sleuth index models                              those that are here, with their speed

  sleuth index models pull all-MiniLM-L6-v2        gets one, after showing size and licence

  sleuth index docs/ --embedder onnx:all-MiniLM-L6-v2

Models are folders in $SLEUTH_MODELS (~/.local/share/sleuth/models). Nothing is downloaded unless you ask.
"""

SECONDS = 0.3
"""For which each speed is measured."""
_PASSAGE = (
    "Tokens are refilled at a fixed rate, and a request waits until the bucket holds enough of them. " * 8
)

models = typer.Typer(name="models", help="List and get neural models.", epilog=EXAMPLES)
index_commands.add_typer(models)


@models.callback(invoke_without_command=True)
def list_models(context: typer.Context, json: JsonOption = False) -> None:
    """List the models that are here: kind, size, licence, measured quality, and speed on this machine."""
    if context.invoked_subcommand is not None:
        return
    from sleuth.plugins.neural import installed_models
    from sleuth.plugins.neural.folder import models_folder
    from sleuth.plugins.neural.known import KNOWN

    rows = [describe(folder) for folder in installed_models()]
    missing = [name for name in KNOWN if name not in {row["name"] for row in rows}]
    if json:
        print_json({"folder": str(models_folder()), "models": rows, "known": missing})
        return
    for row in rows:
        speed = (
            row["error"] or f"{row['passages_per_second']:.0f} passages/s, a query {row['query_ms']:.1f} ms"
        )
        quality = "" if row["quality"] is None else f", nDCG@10 {row['quality']:.3f} (default embedder: .604)"
        licence = clean_text(row["licence"])
        say(f"{row['name']}  {row['kind']}, {human_bytes(row['bytes'])}, licence {licence}{quality}; {speed}")
    if not rows:
        say(f"No models in {models_folder()}.")
    if missing:
        say(f"`sleuth index models pull NAME` gets one of {', '.join(missing)}, or OWNER/NAME at the hub.")


def describe(folder: ModelFolder) -> dict[str, Any]:
    """Return what is known of a model here; `error` says why it does not run, "" where it does."""
    from sleuth.plugins.neural.folder import ORIGIN
    from sleuth.plugins.neural.known import known_model

    model = known_model(folder.name)
    try:
        licence = json_format.loads((folder.path / ORIGIN).read_text("utf-8"))["licence"]
    except (OSError, ValueError, LookupError, TypeError):
        licence = "unknown"
    facts: dict[str, Any] = {
        "name": folder.name,
        "kind": folder.kind,
        "bytes": folder.bytes,
        "licence": str(licence),
        "quality": model and model.quality,
        "path": str(folder.path),
        "error": "",
    }
    try:
        return facts | speed_of(folder)
    except SleuthError as error:
        return {**facts, "error": str(error)}


def speed_of(folder: ModelFolder) -> dict[str, float]:
    """Measure a model: passages of about 170 tokens in a second, and milliseconds for one query."""
    from sleuth.plugins.neural import OnnxCrossEncoder, OnnxEmbedder, OnnxSparseEncoder

    query = "how often are tokens refilled"
    calls: list[Callable[[], object]]
    if folder.is_cross_encoder:
        scorer = OnnxCrossEncoder(folder.path)
        calls = [partial(scorer.predict, [(query, passage)]) for passage in (_PASSAGE, "")]
    elif folder.is_sparse:
        encoder = OnnxSparseEncoder(folder.path)
        calls = [partial(encoder.encode_documents, [_PASSAGE]), partial(encoder.encode_query, query)]
    else:
        embedder = OnnxEmbedder(folder.path)
        calls = [partial(embedder.embed_documents, [_PASSAGE]), partial(embedder.embed_query, query)]
    of_passage, of_query = map(_rate, calls)
    return {"passages_per_second": of_passage, "query_ms": 1000 / of_query}


def _rate(call: Callable[[], object]) -> float:
    """Return how often a call can be made in a second, after the first."""
    call()  # loads the model
    started, count = time.perf_counter(), 0
    while (seconds := time.perf_counter() - started) < SECONDS or not count:
        call()
        count += 1
    return count / seconds


@models.command("pull", epilog="[bold]Example[/bold]  sleuth index models pull all-MiniLM-L6-v2")
def pull(
    name: Annotated[str, typer.Argument(help="Of a known model, or OWNER/NAME of one at the hub.")],
    json: JsonOption = False,
) -> None:
    """Get a model from the hub ($HF_ENDPOINT, https://huggingface.co): its files in ONNX, with their checksums."""
    from sleuth.plugins.neural.folder import models_folder
    from sleuth.plugins.neural.pull import find_model, pull_model

    model = find_model(name)
    what = f"{model.repository} at {model.revision[:12]}, {human_bytes(model.bytes)}, licence {model.licence}"
    if not json:
        say(f"Getting {clean_text(what)}, into {models_folder()}")
    with download_bar(visible=not json) as progress:
        folder = pull_model(model, progress=progress)
    if json:
        print_json(describe(folder))
    else:
        use = {"cross-encoder": "--rerank ", "sparse encoder": "--legs sparse:"}.get(
            folder.kind, "--embedder onnx:"
        )
        say(f"{folder.name} is here, checksums are right. Use it with {use}{folder.name}.")
