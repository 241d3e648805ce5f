"""How a build calls the builders of shards: as Ray actors, or as one builder in its own process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from sleuth.cluster.shards import decode

if TYPE_CHECKING:
    from sleuth.cluster.storage import PublishedPart
    from sleuth.plugins.ray.builder import ShardBuilder


class ProcessDiedError(Exception):
    """A process died, and with it what it had not uploaded."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error).strip().rpartition("\n")[2])


class Builders(Protocol):
    """Builders of all shards of an index."""

    def begin(self, number: int, call: str, *arguments: Any) -> Any:
        """Call a method of the builder of a shard; calls of one caller run in order."""

    def results(self, calls: Sequence[Any]) -> list[Any]:
        """Wait for calls, and return what they return."""

    def upload(self) -> dict[int, PublishedPart]:
        """Upload the shards that changed; their parts, by number.

        Raises:
            ProcessDiedError: a builder died.
        """

    def end(self) -> None:
        """End the builders, and delete the folders of their shards."""


class RayBuilders:
    """Ray actors; shard n is filled by actor n % len(actors)."""

    def __init__(self, actors: Sequence[Any]) -> None:
        """Call these actors."""
        self.actors = list(actors)

    def begin(self, number: int, call: str, *arguments: Any) -> Any:
        """Call a method of the actor of a shard."""
        return getattr(self.actors[number % len(self.actors)], call).remote(number, *arguments)

    def results(self, calls: Sequence[Any]) -> list[Any]:
        """Wait for calls, and return what they return."""
        import ray

        answers: list[Any] = ray.get(list(calls))
        return answers

    def upload(self) -> dict[int, PublishedPart]:
        """Upload the shards that changed; their parts, by number."""
        import ray

        parts: dict[int, PublishedPart] = {}
        try:
            for reply in ray.get([actor.upload.remote() for actor in self.actors]):
                parts |= decode(reply)
        except ray.exceptions.RayError as error:
            raise ProcessDiedError(error) from error
        return parts

    def end(self) -> None:
        """End the actors, and delete the folders of their shards."""
        import ray

        for actor in self.actors:
            with suppress(ray.exceptions.RayError):
                ray.get(actor.close.remote(), timeout=60)
            ray.kill(actor)


class LocalBuilders:
    """One builder of this process."""

    def __init__(self, builder: ShardBuilder) -> None:
        """Call this builder."""
        self.builder = builder

    def begin(self, number: int, call: str, *arguments: Any) -> Any:
        """Call a method of the builder, and return what it returns."""
        return getattr(self.builder, call)(number, *arguments)

    def results(self, calls: Sequence[Any]) -> list[Any]:
        """Return what calls returned."""
        return list(calls)

    def upload(self) -> dict[int, PublishedPart]:
        """Upload the shards that changed; their parts, by number."""
        parts: dict[int, PublishedPart] = decode(self.builder.upload())
        return parts

    def end(self) -> None:
        """Delete the folders of the shards."""
        self.builder.close()
