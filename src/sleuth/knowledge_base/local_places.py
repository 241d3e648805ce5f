"""Maps the URIs of a local knowledge base to files and reads them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sleuth.errors import ArgumentError, LoadError
from sleuth.types import Document

SIDECAR = ".metadata.json"


def read_text(path: Path) -> Iterable[Document]:
    """Read a file of UTF-8 text as one document.

    Raises:
        LoadError: it cannot be read as UTF-8.
    """
    try:
        return [Document(path.read_text("utf-8"), {"title": path.name})]
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(str(path), getattr(error, "strerror", None) or "it is not UTF-8 text") from error


class Places:
    """Files by URI: only `file://` below the folders of data sources and `s3://` below those of buckets.

    Args:
        sources: a folder or an `s3://` address by data source.
        buckets: a folder by bucket.
        reader: returns the documents of a file.
    """

    def __init__(
        self,
        sources: Mapping[str, str | Path],
        buckets: Mapping[str, str | Path],
        reader: Callable[[Path], Iterable[Document]],
    ) -> None:
        self._buckets = {name: Path(folder).resolve() for name, folder in buckets.items()}
        self._reader = reader
        self.sources = {name: str(place) for name, place in sources.items()}
        self._folders = [
            Path(place).resolve() for place in self.sources.values() if not place.startswith("s3://")
        ]

    def files_of(self, source: str) -> Iterator[tuple[str, Path]]:
        """Yield URI and path of every file of a data source, sorted by path, without hidden files and sidecars.

        Raises:
            LoadError: its folder does not exist.
        """
        place = self.sources[source]
        folder = self.path_of(place) if place.startswith("s3://") else Path(place).resolve()
        if not folder.is_dir():
            raise LoadError(str(folder), f"data source {source!r} reads this folder, which is not there")
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            is_hidden = any(part.startswith(".") for part in inside.parts)
            if is_hidden or path.name.endswith(SIDECAR) or not path.is_file() or path.is_symlink():
                continue
            uri = f"{place.rstrip('/')}/{inside.as_posix()}" if place.startswith("s3://") else path.as_uri()
            yield uri, path

    def path_of(self, uri: str) -> Path:
        """Return the file behind a URI.

        Raises:
            ArgumentError: another scheme, an unknown bucket, or a place outside of the folders.
        """
        parts = urlsplit(uri)
        if parts.scheme == "s3" and parts.netloc in self._buckets:
            folders = [self._buckets[parts.netloc]]
            path = (folders[0] / uri.removeprefix(f"s3://{parts.netloc}").lstrip("/")).resolve()
        elif parts.scheme == "file":
            folders = self._folders
            path = Path(unquote(parts.path)).resolve()
        else:
            buckets = ", ".join(f"s3://{name}/" for name in sorted(self._buckets)) or "none"
            raise ArgumentError(
                f"uri must be in a known bucket ({buckets}) or a file of a data source, got {uri!r}"
            )
        if not any(path.is_relative_to(folder) for folder in folders):
            raise ArgumentError(f"uri must lie in the folder of its bucket or data source, got {uri!r}")
        return path

    def read(self, path: Path) -> list[Document]:
        """Read the documents of a file, with the attributes of its sidecar.

        Raises:
            LoadError: the file or its sidecar cannot be read.
        """
        extra: dict[str, Any] = {}
        sidecar = path.with_name(path.name + SIDECAR)
        try:
            attributes = json.loads(sidecar.read_bytes())["metadataAttributes"] if sidecar.is_file() else {}
            extra = {str(key): _plain(value) for key, value in attributes.items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise LoadError(str(sidecar), 'it is not {"metadataAttributes": {...}}') from error
        return [
            Document(document.page_content, {**document.metadata, **extra}) for document in self._reader(path)
        ]

    def documents_of(self, entry: Mapping[str, Any]) -> tuple[str, Iterable[Document]]:
        """Return URI and documents of one entry of `IngestKnowledgeBaseDocuments`; iterating reads the file.

        Raises:
            ArgumentError: the entry is not in the service's form, or its place may not be read.
        """
        content = entry.get("content") or {}
        extra = {}
        for attribute in (entry.get("metadata") or {}).get("inlineAttributes") or ():
            values = [value for name, value in attribute["value"].items() if name != "type"]
            if len(values) != 1:
                raise ArgumentError(f"an attribute must have one value, got {attribute!r}")
            extra[str(attribute["key"])] = values[0]
        custom = content.get("custom") or {}
        uri = (content.get("s3") or {}).get("s3Location", {}).get("uri")
        place = (custom.get("s3Location") or {}).get("uri") or uri
        name = (custom.get("customDocumentIdentifier") or {}).get("id") or uri
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"content must name a document of S3 or a custom one, got {dict(content)!r}")
        if place is None:
            return name, [Document(_inline(custom.get("inlineContent") or {}), extra)]
        path = self.path_of(place)
        return name, self._later(path, extra)

    def _later(self, path: Path, extra: Mapping[str, Any]) -> Iterator[Document]:
        for document in self.read(path):
            yield Document(document.page_content, {**document.metadata, **extra})


def _inline(content: Mapping[str, Any]) -> str:
    text = (content.get("textContent") or {}).get("data")
    data = (content.get("byteContent") or {}).get("data")
    if isinstance(text, str):
        return text
    if not isinstance(data, (str, bytes)):
        raise ArgumentError(f"inlineContent must hold textContent or byteContent, got {dict(content)!r}")
    try:
        raw = data if isinstance(data, bytes) else base64.b64decode(data, validate=True)
        return raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ArgumentError("byteContent must be UTF-8 text, got other bytes") from error


def _plain(value: Any) -> Any:
    """Return a value of a sidecar; unwrap the long form `{"value": {"type": "STRING", "stringValue": ...}}`."""
    if isinstance(value, dict) and isinstance(value.get("value"), dict):
        return next((member for name, member in value["value"].items() if name != "type"), None)
    return value
