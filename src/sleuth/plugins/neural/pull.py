"""Gets a model from a hub, when a user asks for it: the only part of this room that opens connections."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

from sleuth.errors import ArgumentError, RemoteError
from sleuth.plugins.neural.folder import MODEL_FILES, ORIGIN, QUERY_WEIGHTS, ModelFolder, models_folder
from sleuth.plugins.neural.known import KNOWN, known_model
from sleuth.remote import (
    BrokenError,
    CertificateError,
    Deadline,
    Exchange,
    LargeError,
    checked_base,
    exchange_with_host,
    shown_url,
)

ENDPOINT: Final = "https://huggingface.co"

_SILENCE = 60.0  # seconds until an address must answer
_REDIRECTS = 5
_NOTHING = "did not give the model: "
_LARGEST_LIST = 10_000_000
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_SETTINGS = (
    "tokenizer.json",
    "config.json",
    "tokenizer_config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "1_SpladePooling/config.json",
    QUERY_WEIGHTS,
)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a model at a hub.

    Attributes:
        size: in bytes.
        checksum: "sha256:HEX" of a large file, "git:HEX" (the name that git gives it) of a small one.
    """

    path: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model at a hub: what getting it would bring.

    Attributes:
        name: of the folder that it gets.
        repository: at the hub.
        revision: the commit of these files.
        licence: as its card says; "unknown" where it says none.
        files: that are needed.
        endpoint: of the hub.
    """

    name: str
    repository: str
    revision: str
    licence: str
    files: tuple[RemoteFile, ...]
    endpoint: str

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.size for file in self.files)


def find_model(name: str) -> RemoteModel:
    """Ask the hub, `$HF_ENDPOINT` or https://huggingface.co, what a model consists of.

    Args:
        name: of a known model, or OWNER/NAME of one at the hub.

    Raises:
        ArgumentError: an unknown name, or a model without a version in ONNX.
        RemoteError: the hub did not answer, or has no such model.
    """
    entry = known_model(name)
    repository = entry.repository if entry else name
    if not _REPOSITORY.fullmatch(repository):
        raise ArgumentError(f"name must be among {', '.join(KNOWN)}, or OWNER/NAME at the hub, got {name!r}")
    base = checked_base(os.environ.get("HF_ENDPOINT") or ENDPOINT, "HF_ENDPOINT")
    url = f"{base}/api/models/{repository}?blobs=true"
    try:
        with _get(url) as answer:
            raw = answer.read(_LARGEST_LIST).body
    except (BrokenError, LargeError) as error:
        raise _failure(url, f"{_NOTHING}{error}") from None
    try:
        facts = json.loads(raw)
        files = {file.path: file for file in map(_file, facts["siblings"])}
        revision, licence = str(facts["sha"]), (facts.get("cardData") or {}).get("license") or "unknown"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _failure(url, f"must list the files of a model ({error!r})") from error
    model = next((path for path in MODEL_FILES if path in files), None)
    if model is None or "tokenizer.json" not in files:
        raise ArgumentError(f"name must be that of a model with model.onnx and tokenizer.json, got {name!r}")
    paths = [path for path in (*_SETTINGS, model, f"{model}_data") if path in files]
    title = next((title for title in KNOWN if KNOWN[title] is entry), repository.partition("/")[2])
    return RemoteModel(title, repository, revision, str(licence), tuple(files[path] for path in paths), base)


def pull_model(model: RemoteModel, *, progress: Callable[[int, int], None] | None = None) -> ModelFolder:
    """Get the files of a model into `models_folder()`; a second attempt goes on after the files that are there.

    Args:
        progress: called with the bytes that are there and with all, while they arrive.

    Raises:
        RemoteError: the hub did not answer, or a file is not what the hub says it is.
    """
    home = models_folder()
    part, target = home / f".{model.name}.part", home / model.name
    finished = 0

    def tell(more: int) -> None:
        if progress is not None:
            progress(finished + more, model.bytes)

    for file in model.files:
        path = part / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not (path.is_file() and _checksum(path, file) == file.checksum):
            _download(model, file, path, tell)
        finished += file.size
        tell(0)
    origin = {
        "repository": model.repository,
        "revision": model.revision,
        "licence": model.licence,
        "files": {file.path: file.checksum for file in model.files},
    }
    (part / ORIGIN).write_text(json.dumps(origin, indent=2) + "\n", "utf-8")
    if target.exists():
        shutil.rmtree(target)
    part.rename(target)
    return ModelFolder.open(target)


def _download(model: RemoteModel, file: RemoteFile, path: Path, tell: Callable[[int], None]) -> None:
    """Download a file to `path`.

    Raises:
        RemoteError: no whole answer came, or its size or checksum is not the announced one: then the file is deleted.
    """
    url = f"{model.endpoint}/{model.repository}/resolve/{quote(model.revision, safe='')}/{quote(file.path)}"
    size = 0
    with _get(url) as answer, path.open("wb") as target:
        try:
            for piece in answer.pieces():
                answer.renew()  # the deadline is for silence
                size += target.write(piece)
                if size > file.size:
                    break
                tell(size)
        except BrokenError as error:
            raise _failure(url, f"{_NOTHING}{error}") from None
    problem = ""
    if size != file.size:
        excess = " or more" if size > file.size else ""
        problem = f"must have {file.size:,} bytes, got {size:,}{excess}"
    elif _checksum(path, file) != file.checksum:
        problem = f"must have the checksum {file.checksum}, got another one"
    if problem:
        path.unlink()
        raise _failure(url, f"{problem}: the file was dropped")


def _file(facts: dict[str, Any]) -> RemoteFile:
    """Return a file of a list; raises KeyError, TypeError or ValueError where the list is malformed."""
    path, large = str(facts["rfilename"]), facts.get("lfs")
    if large:
        return RemoteFile(path, int(large["size"]), f"sha256:{large['sha256']}")
    return RemoteFile(path, int(facts["size"]), f"git:{facts['blobId']}")


def _checksum(path: Path, file: RemoteFile) -> str:
    """Return the checksum of a local file, of the kind that the hub announced."""
    with path.open("rb") as local:
        if file.checksum.startswith("sha256:"):
            return f"sha256:{hashlib.file_digest(local, 'sha256').hexdigest()}"
        content = local.read()
    blob = b"blob %d\0" % len(content) + content
    return f"git:{hashlib.sha1(blob, usedforsecurity=False).hexdigest()}"


def _get(url: str) -> Exchange:
    """Return an answer with status 200, after redirects.

    Raises:
        RemoteError: no such answer came.
    """
    first_url = url
    for _ in range(_REDIRECTS):
        try:
            answer = exchange_with_host("GET", url, deadline=Deadline(_SILENCE))
        except (BrokenError, CertificateError) as error:
            raise _failure(url, f"{_NOTHING}{error}") from None
        if answer.status == 200:
            return answer
        answer.close()
        target = urljoin(url, answer.headers.get("Location") or "")
        if answer.status not in (301, 302, 303, 307, 308) or urlsplit(target).scheme not in ("http", "https"):
            raise _failure(first_url, f"{_NOTHING}status {answer.status}", answer.status)
        url = target
    raise _failure(first_url, f"{_NOTHING}too many redirects")


def _failure(url: str, why: str, status: int | None = None) -> RemoteError:
    safe_url = shown_url(url)
    return RemoteError(f"{safe_url} {why}", service="models", url=safe_url, status=status)
