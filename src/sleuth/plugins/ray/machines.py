"""Where the files of a build are read: in tasks of Ray Data, or in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from sleuth.cluster.shards import encode
from sleuth.plugins.ray.builder import ShardBuilder
from sleuth.plugins.ray.builders import Builders, LocalBuilders, ProcessDiedError, RayBuilders
from sleuth.plugins.ray.planning import Plan
from sleuth.plugins.ray.reading import PlannedFile, read_files
from sleuth.plugins.ray.session import ray_session

_FILES = 16
"""Files that a task reads at most."""


class Machines(Protocol):
    """Where files are read, and shards built."""

    def start(self) -> Builders:
        """Start builders, which go on after the last upload."""

    def read(self, builders: Builders, files: Sequence[PlannedFile]) -> Iterator[dict[str, Any]]:
        """Read files, and yield the counts of `read_files` for some after the other.

        Raises:
            ProcessDiedError: a process died.
        """


def read_here(
    plan: Plan, builders: Builders, files: Iterable[PlannedFile], *, prune: bool = False
) -> dict[str, Any]:
    """Read files in this process, or delete their documents, and return the counts of `read_files`."""
    rows = {"file": [encode([*file]) for file in files]}
    columns = read_files(rows, **_options(plan, builders), prune=prune)
    return {name: values[0] for name, values in columns.items()}


def _options(plan: Plan, builders: Builders) -> dict[str, Any]:
    return {
        "builders": builders,
        "shards": plan.shards,
        "settings": dict(plan.settings),
        "options": plan.options,
    }


class ThisProcess:
    """Reads and builds here, without Ray."""

    def __init__(self, url: str, plan: Plan) -> None:
        """Build an index.

        Args:
            url: of the index.
        """
        self._url, self._plan = url, plan

    def start(self) -> Builders:
        """Start a builder of all shards."""
        plan = self._plan
        return LocalBuilders(
            ShardBuilder(self._url, plan.name, range(plan.shards), plan.shards, plan.settings)
        )

    def read(self, builders: Builders, files: Sequence[PlannedFile]) -> Iterator[dict[str, Any]]:
        """Read files, and yield the counts of some after the other."""
        for start in range(0, len(files), _FILES):
            yield read_here(self._plan, builders, files[start : start + _FILES])


class RayMachines:
    """Reads in tasks of Ray Data, and builds in Ray actors; Ray is started with the first of them."""

    def __init__(
        self, stack: ExitStack, url: str, plan: Plan, address: str | None, workers: int | None
    ) -> None:
        """Build an index.

        Args:
            stack: ends Ray, where it is started here.
            url: of the index.
            address: of a Ray cluster; None starts one on this machine.
            workers: processes that build shards; None for as many as there are processors.
        """
        self._stack, self._url, self._plan = stack, url, plan
        self._address, self._processors = address, workers

    def start(self) -> Builders:
        """Start builders."""
        plan = self._plan
        ray = self._stack.enter_context(ray_session(self._address, cpus=self._processors))
        count = min(plan.shards, self._processors or int(ray.cluster_resources().get("CPU", 1)))
        remote = ray.remote(ShardBuilder).options(num_cpus=0, scheduling_strategy="SPREAD")
        return RayBuilders(
            [
                remote.remote(
                    self._url,
                    plan.name,
                    tuple(range(number, plan.shards, count)),
                    plan.shards,
                    dict(plan.settings),
                )
                for number in range(count)
            ]
        )

    def read(self, builders: Builders, files: Sequence[PlannedFile]) -> Iterator[dict[str, Any]]:
        """Read files, and yield the counts of some after the other."""
        import ray

        assert isinstance(builders, RayBuilders)  # noqa: S101 - those of `start`
        tasks = max(len(builders.actors) * 2, -(-len(files) // _FILES))
        rows = [{"file": encode([*file])} for file in files]
        options = _options(self._plan, builders)
        try:
            data: Any = ray.data.from_items(rows, override_num_blocks=min(tasks, len(rows)))
            yield from data.map_batches(read_files, batch_size=_FILES, fn_kwargs=options).iter_rows()
        except ray.exceptions.RayError as error:
            raise ProcessDiedError(error) from error
