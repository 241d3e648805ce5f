"""What a build leaves in object storage until it is done."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

from sleuth import Document, Engine
from sleuth.cluster import prune
from sleuth.cluster.storage import ObjectFolder, upload_parts
from sleuth.plugins.ray.builder import Build


def test_objects_of_a_build_that_goes_on_are_not_pruned(tmp_path: Path) -> None:
    """What the record of a young build names stays, however old it is; an old build and its objects go."""
    with Engine.open(tmp_path / "index", create=True, settings={"embedder": ""}) as engine:
        engine.add([Document("The tide comes in.")])
    objects = ObjectFolder(f"file://{tmp_path}/published")
    (part,) = upload_parts({"": tmp_path / "index"}, objects)
    build = Build(objects, "nightly")
    build.record(1, {}, (part,))
    hour_ago = time.time() - 3600

    def make_old(folder: str) -> None:
        for path in (tmp_path / "published" / folder).rglob("*"):
            os.utime(path, (hour_ago, hour_ago))

    make_old("objects")
    assert prune(objects.url, keep=1, grace=timedelta(minutes=10)).objects == 0
    assert build.parts() == (part,)
    make_old("builds")
    assert prune(objects.url, keep=1, grace=timedelta(minutes=10)).objects > 0
    assert build.parts() == ()
