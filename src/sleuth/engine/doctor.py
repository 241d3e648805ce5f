"""Examines environment and indexes, and names the command that mends each fault."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sleuth.errors import ArgumentError, IndexNotFoundError, SleuthError
from sleuth.store import Finding

if TYPE_CHECKING:
    from sleuth.hooks import PluginInfo

HOME = Path(__file__).parents[1]

EXTRAS: dict[str, str] = {
    "hybrid": "documents and code are searched by meaning too, without a download",
    "best": "a small encoder orders the first 20 results again, without a download",
    "neural": "encoders and cross-encoders in ONNX find and order passages (`sleuth index models`)",
    "code": "definitions of further languages are found",
    "pdf": "PDF files are read",
    "office": "files of Word, PowerPoint, Excel, OpenDocument and Outlook, and RTF, are read",
    "html": "pages of the web are read as a reader would",
    "bedrock": "knowledge bases of AWS are searched and filled",
    "chroma": "a Chroma is searched and imported",
    "fastembed": "embedders fastembed:MODEL",
    "imports": "FAISS of LangChain, LanceDB, Qdrant and Parquet are imported",
    "models": "embedders model2vec:MODEL and sentence-transformers:MODEL",
    "watch": "`sleuth index --watch` and `sleuth code index --watch` see what is saved",
    "eval": "`sleuth index eval` measures rankings",
    "cluster": "indexes are published to object storage, and built and served over Ray",
    "mcp": "`sleuth mcp` serves agents",
    "serve": "`sleuth serve` answers over HTTP",
    "grep": "`sleuth grep` finds lines that match a regular expression",
    "langchain": "retrievers and stores for LangChain",
    "haystack": "retrievers and stores for Haystack",
    "llama-index": "retrievers and stores for LlamaIndex",
    "langgraph": "tools for agents of LangGraph and LangChain",
    "pydantic-ai": "a toolset for Pydantic AI",
    "dspy": "a retriever for DSPy",
    "tables": "data frames, Parquet and Arrow become documents",
    "ir-datasets": "collections of ir_datasets are measured by their ids",
    "pyterrier": "a transformer for PyTerrier",
    "mteb": "a search model for MTEB",
}
"""What each extra is for. Which packages it has is read from the metadata of the installation."""


_package_name = re.compile(r"[\w.-]+")


def examine(path: Path, *, full: bool = False) -> list[Finding]:
    """Everything that `sleuth doctor` reports: environment, optional packages, and the index at `path`."""
    return [*environment(), *optional_packages(), *models(), *plugins(path), *index(path, full=full)]


def mend(path: Path) -> list[Finding]:
    """Check the indexes of code and of documents fully, mend what can be mended, and tell what was.

    Raises:
        StoreError: one cannot be mended; the message says what to do.
    """
    from sleuth.engine.codebase import has_code, repair_code
    from sleuth.engine.engine import Engine
    from sleuth.store.store import Store

    code_too = has_code(path)
    repairs = repair_code(path) if code_too else []
    if not code_too or Store.is_at(path):
        with Engine.open(path) as engine:
            repairs += [*engine.repairs, *engine.repair()]
    return [Finding("warning", repair.what, repair.why) for repair in repairs]


def environment() -> list[Finding]:
    """Versions, and whether the compiled kernels load (each has a stub beside it)."""
    import sleuth

    checks = [
        Finding("ok", "sleuth", f"version {sleuth.__version__}"),
        Finding("ok", "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        Finding("ok", "sqlite", sqlite3.sqlite_version),
    ]
    for stub in sorted(HOME.rglob("*.pyi")):
        name = ".".join(("sleuth", *stub.relative_to(HOME).with_suffix("").parts))
        try:
            import_module(name)
        except ImportError as error:
            remedy = f"{sys.executable} -m pip install --force-reinstall sleuth"
            checks.append(Finding("error", name, f"the compiled kernel does not load: {error}", remedy))
        else:
            checks.append(Finding("ok", name, "loads"))
    return checks


def optional_packages() -> list[Finding]:
    """Return which packages of each extra are there, and the command that installs the others."""
    findings = []
    for extra, names in packages_by_extra().items():
        missing_packages = [name for name in names if not _version(name)]
        purpose = EXTRAS[extra]
        if missing_packages:
            message = f"{', '.join(missing_packages)} not installed; with it, {purpose}"
            findings.append(Finding("info", extra, message, f"pip install 'sleuth[{extra}]'"))
        else:
            installed = ", ".join(f"{name} {_version(name)}" for name in names)
            findings.append(Finding("ok", extra, f"{installed}: {purpose}"))
    return findings


def packages_by_extra() -> dict[str, list[str]]:
    """Return the names of the packages of each extra for users, as the metadata of this installation has them."""
    extras: dict[str, list[str]] = {extra: [] for extra in EXTRAS}
    for requirement in requires("sleuth") or ():
        package, _, marker = requirement.partition(";")
        extra = marker.rpartition("extra ==")[-1].strip(" '\"")
        if extra in extras and (name := _package_name.match(package)):
            extras[extra].append(name[0])
    return extras


def models() -> list[Finding]:
    """Return whether an Ollama answers, and which models it has."""
    from sleuth.llm import ollama_status

    status = ollama_status()
    if not status.running:
        return [Finding("info", "ollama", f"{status.problem}; without it, answers quote sentences")]
    names = ", ".join(status.models) or "no models yet"
    return [Finding("ok", "ollama", f"version {status.version} at {status.url}: {names}")]


def plugins(path: Path) -> list[Finding]:
    """Return which plugins load and start, with the error of each that does not."""
    from sleuth.engine.answers import PLUGINS_VARIABLE

    try:
        infos = try_plugins(path, os.environ.get(PLUGINS_VARIABLE) or None)
    except ArgumentError as error:
        return [Finding("error", PLUGINS_VARIABLE, str(error))]
    return [
        Finding("error", info.name, f"the plugin from {info.origin} does not work: {info.error}")
        if info.status == "failed"
        else Finding("ok", info.name, f"plugin from {info.origin}")
        for info in infos
    ]


def try_plugins(path: Path, folder: str | Path | None = None) -> list[PluginInfo]:
    """Load and activate the plugins there are, then deactivate them; what failed is listed with its error.

    Args:
        path: of the index that they are activated with; an empty one in a temporary folder where it does not open.
        folder: searched for plugins, beside the installed ones.

    Raises:
        ArgumentError: `folder` is no folder.
    """
    from sleuth.engine.engine import Engine
    from sleuth.errors import PluginError
    from sleuth.hooks import Morpheus, load_plugins, unload_plugins

    infos = load_plugins(Morpheus(), folder=folder, activate=False)
    if not any(info.overrides for info in infos):
        return infos
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(Engine.open(path))
        except SleuthError:
            empty = stack.enter_context(TemporaryDirectory())
            engine = stack.enter_context(Engine.open(empty, create=True, embedder=""))
        registry = Morpheus()
        infos = load_plugins(registry, folder=folder, instance=engine)
        states = [replace(info) for info in infos]
        with suppress(PluginError):
            unload_plugins(registry, engine)
        return [info if info.status == "failed" else state for info, state in zip(infos, states, strict=True)]


def index(path: Path, *, full: bool = False) -> list[Finding]:
    """Check that the indexes open, cover everything in every leg and, with `full`, hold the bytes that were written."""
    from sleuth.engine.codebase import check_code, has_code

    return [*documents(path, full=full), *(check_code(path, full=full) if has_code(path) else ())]


def documents(path: Path, *, full: bool = False) -> list[Finding]:
    """Findings about the index of documents."""
    from sleuth.engine.engine import Engine

    try:
        with Engine.open(path) as engine:
            repairs = [Finding("warning", repair.what, repair.why) for repair in engine.repairs]
            checks = engine.check(full=full)
            missing = engine.words_only
            meaning = [Finding("info", "meaning", f"not searched: {missing}")] if missing else []
            reranker = f"{engine.backend.default_reranker or 'no model'} orders the first results again"
            return [*repairs, *checks, *meaning, Finding("ok", "reranker", reranker)]
    except IndexNotFoundError as error:
        return [Finding("info", str(path), str(error).rpartition(": ")[0], "sleuth index PATH")]
    except SleuthError as error:
        return [Finding("error", str(path), str(error))]


def _version(package: str) -> str:
    """Return the version of an installed package, or ""."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
