"""The async twins of an engine's calls: each runs in a thread, and its computation ends when it is cancelled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sleuth.arguments import check_options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine.contents import DocumentPage
    from sleuth.engine.selection import Count, Facet, MetadataKey
    from sleuth.filters import Filter
    from sleuth.ingest import AddReport, IndexReport, MoveReport, Root
    from sleuth.store import Finding, Repair, StoredDocument
    from sleuth.types import Document, Ranking, RetrievedItem

    FilterForm = Filter | Mapping[str, Any] | str | None


async def _in_thread(call: Any, /, *args: Any, **options: Any) -> Any:
    from sleuth.remote import in_thread  # loads asyncio

    check_options(call, options)
    return await in_thread(call, *args, **options)


class AsyncTwins:
    """Calls of an engine that do not block the event loop.

    Each takes what its twin takes and returns what that returns. What was committed before a cancellation stays.
    """

    if TYPE_CHECKING:
        add: Any
        check: Any
        close: Any
        compact: Any
        count: Any
        delete: Any
        documents: Any
        embed: Any
        facets: Any
        get: Any
        index: Any
        list_documents: Any
        metadata_keys: Any
        move: Any
        nearest: Any
        open: Any
        refresh: Any
        repair: Any
        retrieve: Any
        roots: Any
        status: Any
        update: Any

    @classmethod
    async def aopen(cls, path: str | Path, **options: Any) -> Self:
        """`open`, without blocking the event loop."""
        engine: Self = await _in_thread(cls.open, path, **options)
        return engine

    async def aretrieve(self, query: str, k: int = 10, **options: Any) -> Ranking:
        """`retrieve`, without blocking the event loop."""
        ranking: Ranking = await _in_thread(self.retrieve, query, k, **options)
        return ranking

    async def anearest(
        self, vector: Sequence[float] | NDArray[np.floating[Any]], k: int = 10, **options: Any
    ) -> Ranking:
        """`nearest`, without blocking the event loop."""
        ranking: Ranking = await _in_thread(self.nearest, vector, k, **options)
        return ranking

    async def aadd(self, documents: Iterable[Document], **options: Any) -> AddReport:
        """`add`, without blocking the event loop. When it is cancelled, batches that were committed stay."""
        report: AddReport = await _in_thread(self.add, documents, **options)
        return report

    async def aindex(self, paths: Sequence[str | Path], **options: Any) -> IndexReport:
        """`index`, without blocking the event loop. When it is cancelled, what was read is committed."""
        report: IndexReport = await _in_thread(self.index, paths, **options)
        return report

    async def aembed(self, **options: Any) -> int:
        """`embed`, without blocking the event loop."""
        passages: int = await _in_thread(self.embed, **options)
        return passages

    async def aupdate(
        self, changes: Mapping[str, Any], ids: Iterable[str] | None = None, **options: Any
    ) -> list[str]:
        """`update`, without blocking the event loop."""
        changed: list[str] = await _in_thread(self.update, changes, ids, **options)
        return changed

    async def adelete(self, ids: Iterable[str] | None = None, **options: Any) -> list[str]:
        """`delete`, without blocking the event loop."""
        deleted: list[str] = await _in_thread(self.delete, ids, **options)
        return deleted

    async def amove(self, old: str | Path, new: str | Path, **options: Any) -> MoveReport:
        """`move`, without blocking the event loop."""
        report: MoveReport = await _in_thread(self.move, old, new, **options)
        return report

    async def aget(self, id: str) -> list[RetrievedItem]:
        """`get`, without blocking the event loop."""
        items: list[RetrievedItem] = await _in_thread(self.get, id)
        return items

    async def adocuments(self, under: str | None = None) -> list[StoredDocument]:
        """`documents`, without blocking the event loop."""
        documents: list[StoredDocument] = await _in_thread(self.documents, under)
        return documents

    async def alist_documents(self, **options: Any) -> DocumentPage:
        """`list_documents`, without blocking the event loop."""
        page: DocumentPage = await _in_thread(self.list_documents, **options)
        return page

    async def acount(self, filter: FilterForm = None) -> Count:
        """`count`, without blocking the event loop."""
        count: Count = await _in_thread(self.count, filter)
        return count

    async def afacets(self, keys: str | Sequence[str], **options: Any) -> dict[str, list[Facet]]:
        """`facets`, without blocking the event loop."""
        facets: dict[str, list[Facet]] = await _in_thread(self.facets, keys, **options)
        return facets

    async def ametadata_keys(self, filter: FilterForm = None) -> list[MetadataKey]:
        """`metadata_keys`, without blocking the event loop."""
        keys: list[MetadataKey] = await _in_thread(self.metadata_keys, filter)
        return keys

    async def aroots(self) -> list[Root]:
        """`roots`, without blocking the event loop."""
        roots: list[Root] = await _in_thread(self.roots)
        return roots

    async def arefresh(self) -> int:
        """`refresh`, without blocking the event loop."""
        version: int = await _in_thread(self.refresh)
        return version

    async def astatus(self) -> dict[str, Any]:
        """`status`, without blocking the event loop."""
        status: dict[str, Any] = await _in_thread(self.status)
        return status

    async def acheck(self, **options: Any) -> list[Finding]:
        """`check`, without blocking the event loop."""
        findings: list[Finding] = await _in_thread(self.check, **options)
        return findings

    async def arepair(self) -> list[Repair]:
        """`repair`, without blocking the event loop."""
        repairs: list[Repair] = await _in_thread(self.repair)
        return repairs

    async def acompact(self) -> None:
        """`compact`, without blocking the event loop."""
        await _in_thread(self.compact)

    async def aclose(self, **options: Any) -> None:
        """`close`, without blocking the event loop."""
        await _in_thread(self.close, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose(finish=exc[0] is None)
