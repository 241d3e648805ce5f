"""A local server that speaks the protocol of a hub of models."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sleuth.testing.serving import LocalServer, Reply, Request

REVISION = "8b3219a92973c328a8e22fadcfa821b5dc75636a"


class Hub(LocalServer):
    """A hub: lists of files as `/api/models/OWNER/NAME?blobs=true`, large ones by redirect.

    Attributes:
        repositories: contents by file name, by repository.
        files: those of the first repository.
        broken: name of a file that comes with another last byte; "" for none.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        super().__init__()
        self.repositories: dict[str, dict[str, bytes]] = {}
        for name, folder in folders.items():
            files = [path for path in folder.rglob("*") if path.is_file()]
            contents = {str(path.relative_to(folder)): path.read_bytes() for path in files}
            self.repositories[name] = contents | {"pytorch_model.bin": b"never asked for"}
        self.files = next(iter(self.repositories.values()))
        self.broken = ""

    def answer(self, request: Request) -> Reply:
        path, _, query = request.path.partition("?")
        for repository, files in self.repositories.items():
            if path == f"/api/models/{repository}" and query == "blobs=true":
                facts = {"id": repository, "sha": REVISION, "cardData": {"license": "apache-2.0"}}
                siblings = [self.facts(*file) for file in files.items()]
                return Reply(200, json.dumps(facts | {"siblings": siblings}).encode())
            for start in (f"/{repository}/resolve/{REVISION}/", f"/cdn/{repository}/"):
                if path.startswith(start):
                    return self._file(files, path.removeprefix(start), repository, is_cdn="/cdn/" in start)
        return Reply(404, b"not found")

    def _file(self, files: Mapping[str, bytes], name: str, repository: str, *, is_cdn: bool) -> Reply:
        if name not in files:
            return Reply(404, b"not found")
        if name.endswith(".onnx") and not is_cdn:
            return Reply(302, headers={"Location": f"{self.url}/cdn/{repository}/{name}?signature=1"})
        content = files[name]
        return Reply(200, content[:-1] + b"?" if name == self.broken else content)

    def facts(self, name: str, content: bytes) -> dict[str, Any]:
        if name.endswith(".onnx"):
            large = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 1}
            return {"rfilename": name, "size": len(content), "blobId": "0" * 40, "lfs": large}
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324 - as git names it
        return {"rfilename": name, "size": len(content), "blobId": blob}

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]
