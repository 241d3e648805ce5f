"""A folder of object storage: S3, Google Cloud Storage, Azure, or a folder of this machine. One place for all I/O."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sleuth import platform
from sleuth.errors import StorageError, StoreError, requires

_PIECE = 1 << 20
"""Bytes of a download that are in memory at once, about."""
_TIMEOUT = "60s"
_NOT_FOUND = "404 Not Found"
"""In the message of obstore where a listing was answered so."""
_RETRY: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}


class ObjectFacts(NamedTuple):
    """What a listing says of an object.

    Attributes:
        etag: changes with its content; "" where the storage gives no ETag.
    """

    size: int
    modified: datetime
    etag: str = ""


class ObjectMissingError(StoreError):
    """An object that is not there."""


class ObjectFolder:
    """A folder of object storage. Safe to share between threads.

    Credentials and endpoints come from the environment, as the tools of each service read them: `AWS_ACCESS_KEY_ID`,
    `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, ...

    Attributes:
        url: of the folder.
    """

    def __init__(self, url: str) -> None:
        """Open the folder at a URL; a local folder is created when something is put there.

        Raises:
            MissingPackageError: obstore is not installed.
            StorageError: credentials or settings are missing.
        """
        with requires("obstore", "cluster", "an index in object storage"):
            import obstore
            from obstore import exceptions, store
        self.url = url
        self._api: Any = obstore
        self._errors: Any = exceptions
        self._folder = Path(url.removeprefix("file://")) if url.startswith("file://") else None
        with self._named(""):
            if self._folder is not None:
                self._store: Any = store.LocalStore(self._folder, mkdir=True)
            else:
                may_be_insecure = os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true"
                options: Any = {"timeout": _TIMEOUT, "allow_http": may_be_insecure}
                self._store = store.from_url(url, client_options=options, retry_config=_RETRY)

    def put(self, name: str, data: bytes) -> bool:
        """Create an object, durably; False where it is there already, which is then left as it is.

        Raises:
            StorageError: the storage cannot be reached, or has no such bucket.
        """
        try:
            with self._named(name, creates=True):
                self._api.put(self._store, name, data, mode="create", use_multipart=False)
                if self._folder is not None:
                    # A file and each new folder above it must be flushed to survive a power cut; obstore does not.
                    path = self._folder / name
                    while path != self._folder.parent.parent:
                        platform.sync(path)
                        path = path.parent
        except self._errors.AlreadyExistsError:
            return False
        return True

    def get(self, name: str) -> bytes:
        """Return the content of an object.

        Raises:
            ObjectMissingError: it is not there.
        """
        with self._named(name):
            return bytes(self._api.get(self._store, name).bytes())

    def list(self, folder: str) -> Iterator[tuple[str, ObjectFacts]]:
        """Yield the objects below a folder of this folder, by name."""
        with self._named(folder):
            for page in self._api.list(self._store, folder):
                for entry in page:
                    yield entry["path"], _facts(entry)

    def head(self, name: str) -> ObjectFacts:
        """Return what a listing would say of an object.

        Raises:
            ObjectMissingError: it is not there.
        """
        with self._named(name):
            return _facts(self._api.head(self._store, name))

    def download(self, name: str, path: Path, etag: str) -> None:
        """Write the content of an object to a file, piece by piece.

        Args:
            etag: that it must have; "" for any.

        Raises:
            ObjectMissingError: it is not there, or has another ETag.
        """
        with self._named(name):
            try:
                answer = self._api.get(self._store, name, options={"if_match": etag} if etag else {})
            except self._errors.PreconditionError as error:
                raise FileNotFoundError(name) from error
            with path.open("wb") as out:
                for piece in answer.stream(min_chunk_size=_PIECE):
                    out.write(piece)

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; those that are not there are no error."""
        for name in names:
            try:
                with self._named(name):
                    self._api.delete(self._store, name)
            except ObjectMissingError:
                continue

    def check_create_only(self) -> None:
        """See whether this storage refuses to create an object that is there: without it, versions could be lost.

        Raises:
            StoreError: it does not.
        """
        name = f"probes/{uuid.uuid4().hex}"
        self.put(name, b"first")
        try:
            is_refused = not self.put(name, b"second") and self.get(name) == b"first"
        finally:
            self.delete([name])
        if not is_refused:
            raise StoreError(
                f"{self.url} ignores put-if-absent, so two publishers could overwrite each other's versions: "
                "publish to a storage that honours If-None-Match",
                path=self.url,
            )

    @contextmanager
    def _named(self, name: str, *, creates: bool = False) -> Iterator[None]:
        """Raise errors of obstore as Sleuth's errors that name the object."""
        where = f"{self.url}/{name}" if name else self.url
        try:
            yield
        except self._errors.AlreadyExistsError:
            raise
        except FileNotFoundError as error:
            if creates and self._folder is None:
                raise self._no_bucket() from error
            raise ObjectMissingError(f"{where} is not there", path=where) from error
        except (self._errors.BaseError, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            # A listing of a bucket that is there is never missing.
            if self._folder is None and _NOT_FOUND in reason:
                raise self._no_bucket() from error
            raise StorageError(f"{where} cannot be reached: {reason}", path=where) from error

    def _no_bucket(self) -> StorageError:
        scheme, _, bucket = self.url.partition("://")
        kind, variables = "bucket", "its region and endpoint (AWS_REGION, AWS_ENDPOINT_URL)"
        if scheme == "gs":
            variables = "the account (GOOGLE_SERVICE_ACCOUNT)"
        elif not scheme.startswith("s3"):
            kind, variables = "container", "the account (AZURE_STORAGE_ACCOUNT_NAME)"
        return StorageError(
            f"there is no {kind} {scheme}://{bucket.partition('/')[0]}: create it, or check its name, and {variables}",
            path=self.url,
        )


def _facts(entry: Any) -> ObjectFacts:
    return ObjectFacts(entry["size"], entry["last_modified"], entry["e_tag"] or "")
