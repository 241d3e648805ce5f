"""Who reads the files of a build and fills its shards: this process, or tasks and actors on Ray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from sleuth.cluster.shards import decode, encode
from sleuth.plugins.ray.builder import ShardBuilder
from sleuth.plugins.ray.reading import read_files
from sleuth.plugins.ray.session import ray_session

if TYPE_CHECKING:
    from sleuth.cluster.storage import PublishedPart
    from sleuth.plugins.ray.planning import Plan
    from sleuth.plugins.ray.reading import PlannedFile

_FILES = 16
"""Files that a task reads at most."""


class ProcessDiedError(Exception):
    """A process died, and with it what it had not uploaded."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error).strip().rpartition("\n")[2])


class Builders:
    """One builder of all shards, in this process, without Ray."""

    def __init__(self, url: str, plan: Plan) -> None:
        """Start a builder for the index at an address, which goes on after the last upload."""
        self._builder = ShardBuilder(url, plan.name, range(plan.shards), plan.shards, plan.settings)

    def begin(self, number: int, call: str, *arguments: Any) -> Any:
        """Call a method of the builder of a shard; calls of one caller run in order."""
        return getattr(self._builder, call)(number, *arguments)

    def results(self, calls: Sequence[Any]) -> list[Any]:
        """Wait for calls, and return what they return."""
        return list(calls)

    def read(self, plan: Plan, files: Sequence[PlannedFile]) -> Iterator[bytes]:
        """Read files, and yield the reports of `read_files` for some after the other.

        Raises:
            ProcessDiedError: a process died.
        """
        for start in range(0, len(files), _FILES):
            yield self.read_here(plan, files[start : start + _FILES])

    def read_here(self, plan: Plan, files: Iterable[PlannedFile], *, prune: bool = False) -> bytes:
        """Read files in this process, or delete their documents, and return the report of `read_files`."""
        rows = {"file": [encode([*file]) for file in files]}
        (report,) = read_files(rows, builders=self, prune=prune, **_options(plan))["report"]
        return report

    def upload(self) -> dict[int, PublishedPart]:
        """Upload the shards that changed; their parts, by number.

        Raises:
            ProcessDiedError: a builder died.
        """
        parts: dict[int, PublishedPart] = decode(self._builder.upload())
        return parts

    def end(self) -> None:
        """End the builders, and delete the folders of their shards."""
        self._builder.close()


class RayBuilders(Builders):
    """Ray actors, beside tasks of Ray Data that read; shard n is filled by actor n % len(actors)."""

    def __init__(
        self, url: str, plan: Plan, stack: ExitStack, address: str | None, workers: int | None
    ) -> None:
        """Start builders, and Ray with the first of them.

        Args:
            url: of the index.
            stack: ends Ray, where it is started here.
            address: of a Ray cluster; None starts one on this machine.
            workers: processes that build shards; None for as many as there are processors.
        """
        self._ray = ray = stack.enter_context(ray_session(address, cpus=workers))
        count = min(plan.shards, workers or int(ray.cluster_resources().get("CPU", 1)))
        start = ray.remote(ShardBuilder).options(num_cpus=0, scheduling_strategy="SPREAD").remote
        settings, shards = dict(plan.settings), plan.shards
        self._actors = [
            start(url, plan.name, tuple(range(first, shards, count)), shards, settings)
            for first in range(count)
        ]

    def begin(self, number: int, call: str, *arguments: Any) -> Any:
        """Call a method of the actor of a shard."""
        return getattr(self._actors[number % len(self._actors)], call).remote(number, *arguments)

    def results(self, calls: Sequence[Any]) -> list[Any]:
        """Wait for calls, and return what they return."""
        answers: list[Any] = self._ray.get(list(calls))
        return answers

    def read(self, plan: Plan, files: Sequence[PlannedFile]) -> Iterator[bytes]:
        """Read files in tasks, and yield the reports of some after the other."""
        rows = [{"file": encode([*file])} for file in files]
        blocks = min(len(rows), max(len(self._actors) * 2, -(-len(rows) // _FILES)))
        options = {"builders": self, **_options(plan)}
        try:
            data: Any = self._ray.data.from_items(rows, override_num_blocks=blocks)
            for row in data.map_batches(read_files, batch_size=_FILES, fn_kwargs=options).iter_rows():
                yield row["report"]
        except self._ray.exceptions.RayError as error:
            raise ProcessDiedError(error) from error

    def upload(self) -> dict[int, PublishedPart]:
        """Upload the shards that changed; their parts, by number."""
        parts: dict[int, PublishedPart] = {}
        try:
            for reply in self._ray.get([actor.upload.remote() for actor in self._actors]):
                parts |= decode(reply)
        except self._ray.exceptions.RayError as error:
            raise ProcessDiedError(error) from error
        return parts

    def end(self) -> None:
        """End the actors, and delete the folders of their shards."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(actor.close.remote(), timeout=60)
            self._ray.kill(actor)


def _options(plan: Plan) -> dict[str, Any]:
    return {"shards": plan.shards, "settings": dict(plan.settings), "options": plan.options}
