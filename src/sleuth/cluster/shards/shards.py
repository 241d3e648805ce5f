"""All shards of an index at one version, as a query asks them: the protocol, and the shards of this process."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sleuth.errors import UnavailableError

if TYPE_CHECKING:
    from sleuth.cluster.shards.shard import LocalShard
    from sleuth.filters import Filter
    from sleuth.remote import Deadline
    from sleuth.types import PartReport


class ShardAnswers(NamedTuple):
    """What shards answered.

    Attributes:
        values: by number of the shard.
        failures: a report of each shard that did not answer.
    """

    values: dict[int, Any]
    failures: list[PartReport]


class ShardsMissingError(UnavailableError):
    """Shards that were needed did not answer.

    Attributes:
        parts: a report of each.
    """

    def __init__(self, parts: Sequence[PartReport]) -> None:
        self.parts = tuple(parts)
        super().__init__(
            "; ".join(f"{part.name} {part.status}: {part.error}" for part in parts),
            context={"parts": [part.to_dict() for part in parts]},
        )


class Shards(Protocol):
    """One version of all shards, for the length of a query. Safe to share between threads."""

    @property
    def names(self) -> Sequence[str]:
        """By number of the shard, as reports name it."""

    @property
    def scope(self) -> Filter | None:
        """What they are limited to; None for all of the index."""

    def scoped(self, scope: Filter) -> Shards:
        """Return them as a scope narrows each."""

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each shard."""

    @property
    def generation(self) -> Hashable:
        """Equal ones are of equal versions and have equal segments too."""

    def ask(
        self, question: str, arguments: Mapping[int, Sequence[Any]], deadline: Deadline | None = None
    ) -> ShardAnswers:
        """Send one question to several shards at once, and collect their answers.

        Args:
            question: the name of a question that `LocalShard.answer` knows, such as "totals".
            arguments: the arguments of the question for each shard to ask, by its number; other shards are not asked.
            deadline: a shard that has not answered by then is in `failures` of the result.

        Raises:
            SleuthError: a shard raised it.
        """


class LocalShards:
    """The shards of this process, asked one after the other: they all answer, or raise."""

    def __init__(
        self, shards: Sequence[LocalShard], names: Sequence[str], scope: Filter | None = None
    ) -> None:
        """Group open shards.

        Args:
            shards: by number, narrowed to `scope` already.
            names: of the shards, by number.
            scope: the filter that they were narrowed to; it is only remembered here. None for all of the index.
        """
        self.shards = shards
        self.names = names
        self.scope = scope
        self.generation: Hashable = tuple([shard.snapshot.generation for shard in shards])

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each shard."""
        return tuple([shard.snapshot.version for shard in self.shards])

    def scoped(self, scope: Filter) -> LocalShards:
        """Return them as a scope narrows each."""
        shards = [shard.index.at(shard.snapshot, scope) for shard in self.shards]
        return LocalShards(shards, self.names, scope)

    def ask(
        self, question: str, arguments: Mapping[int, Sequence[Any]], deadline: Deadline | None = None
    ) -> ShardAnswers:
        """Ask some shards the same question."""
        values: dict[int, Any] = {}
        for number, arguments_of_shard in arguments.items():
            values[number] = self.shards[number].answer(question, arguments_of_shard)
        return ShardAnswers(values, [])
