"""What a search for passages asks, with every option of retrieval."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from sleuth.arguments import PER_DOCUMENT, check_kind
from sleuth.compose.arrange import Arrangement
from sleuth.engine.expansion import Expansion, check_expansion
from sleuth.engine.fusion import Fusion, as_fusion
from sleuth.errors import ArgumentError
from sleuth.filters import Filter
from sleuth.protocols import Reranker
from sleuth.types.request import BaseRequest, Wire

SPELLINGS = "docs, code, code:REPOSITORY, web, kb:ID"

_SPELLING = re.compile(r"docs|code|web|(?:code|kb):.+")

MOST_EDITS: Final = 2
"""Edits by which words of a fuzzy search differ at most."""

WITHOUT_VARIETY: Final[Mapping[str, Any]] = {"fold_copies": False, "per_document": 0}
"""Options of a search whose hits are the best ones, whatever they repeat."""

_Count = Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest(BaseRequest):
    """A search for passages. `Engine.retrieve` documents the options.

    Attributes:
        sources: where to look, such as "docs" and "code"; all that is open where None.
        arrangement: how candidates are boosted, sorted and folded; None where the request asks for none of these.

    Raises:
        ArgumentError: a value that breaks its rule.
    """

    counts = ("k", "per_document")

    sources: Annotated[
        Sequence[str] | None,
        Wire(list[str] | None),
        Field(
            max_length=20,
            description="Where to look: docs, code, code:REPOSITORY, web or kb:ID.",
            examples=[["docs"], ["docs", "code"]],
        ),
    ] = None
    filter: Annotated[
        Filter | Mapping[str, Any] | str | None,
        Wire(str | dict[str, Any] | None),
        Field(
            description='Use only passages that match, as in "year>=2020 lang:en".',
            examples=["year>=2020 lang:en", {"year": {"$gte": 2020}}],
        ),
    ] = None
    legs: Annotated[
        Sequence[str] | None,
        Wire(list[str] | None),
        Field(
            max_length=20,
            description="Search only by these legs, such as lexical (words) and dense (meaning).",
            examples=[["lexical"]],
        ),
    ] = None
    fusion: Annotated[
        Fusion | str | None,
        Wire(str | None),
        Field(
            max_length=200,
            description='How the legs are fused, as in "rrf" or "minmax(dense=1)".',
            examples=["minmax(lexical=1,dense=0.4,pool=200)"],
        ),
    ] = None
    expand: Annotated[
        Expansion,
        Wire(_Count | Literal["section", "document"] | None),
        Field(
            description="Give each passage with its neighbours (1, 2 …), section or document.",
            examples=["section", 1],
        ),
    ] = None
    explain: Annotated[bool, Field(description="Explain each score.", examples=[True])] = False
    exact: Annotated[
        bool, Field(description="Score every passage exactly, without estimates.", examples=[True])
    ] = False
    deadline: Annotated[
        float | None,
        Field(gt=0, description="Seconds that the search may take; late legs are left out.", examples=[2.5]),
    ] = None  # 2.5 is an example, no default
    syntax: Annotated[
        bool, Field(description='Read "phrases", -word and field:word in the query.', examples=[True])
    ] = False
    min_score: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="Omit passages with less in common with the query, from 0 (nothing) to 1 (all words).",
            examples=[0.3],  # no default
        ),
    ] = None
    fold_copies: Annotated[
        bool, Field(description="Leave out passages that repeat the text of a better one.", examples=[True])
    ] = False
    per_document: Annotated[
        int,
        Field(
            ge=0, description="Passages of one document among the first ten; 0 for no limit.", examples=[1]
        ),
    ] = PER_DOCUMENT
    rerank: Annotated[
        Reranker | str | None,
        Wire(str | None),
        Field(
            max_length=200,
            description='Model that orders the best again; "" for none.',
            examples=["ms-marco-MiniLM-L6-v2"],
        ),
    ] = None

    sort: Annotated[
        str | None,
        Field(
            max_length=200,
            description='Order results by this metadata key; "-date" puts the greatest value first.',
            examples=["-date", "title"],
        ),
    ] = None
    collapse: Annotated[
        str | None,
        Field(
            max_length=200,
            description="Show one result for each value of this metadata key, with the number of the others.",
            examples=["source"],
        ),
    ] = None
    recency: Annotated[
        str | None,
        Field(
            max_length=200,
            description='Favour new passages by a date and a half-life (h, d, w, m, y); "^3" counts new ones 3 times.',
            examples=["date:30d", "year:2y^3"],
        ),
    ] = None
    boost: Annotated[
        Mapping[str, float] | str | None,
        Wire(str | dict[str, float] | None),
        Field(
            description='Multiply the scores of passages that match filters, as in "kind:note^2; lang:en^1.5".',
            examples=["kind:note^2", {"kind:note": 2}],
        ),
    ] = None
    fuzzy: Annotated[
        int, Field(ge=0, le=2, description="By how many edits words may differ, 0 to 2.", examples=[1])
    ] = 0
    synonyms: Annotated[bool, Field(description="Use the synonyms of the index.", examples=[False])] = True
    arrangement: Arrangement | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super(SearchRequest, self).__post_init__()
        if self.expand is not None:
            check_expansion(self.expand)
        if self.fusion is not None:
            as_fusion(self.fusion)
        if self.deadline is not None and not (type(self.deadline) in (int, float) and self.deadline > 0):
            raise ArgumentError(
                f"deadline must be a number of seconds above 0, or None, got {self.deadline!r}"
            )
        if type(self.fuzzy) is not int or not 0 <= self.fuzzy <= MOST_EDITS:
            raise ArgumentError(f"fuzzy must be 0, 1 or 2, got {self.fuzzy!r}")
        if self.sort is not None and self.rerank:
            raise ArgumentError(f"rerank must be left out of a sorted search, got {self.rerank!r}")
        arrangement = None
        if not (self.sort is None and self.collapse is None and self.recency is None and self.boost is None):
            arrangement = Arrangement.of(self.sort, self.collapse, self.recency, self.boost)
        object.__setattr__(self, "arrangement", arrangement)
        if self.min_score is not None and not (
            type(self.min_score) in (int, float) and 0 <= self.min_score <= 1
        ):
            raise ArgumentError(f"min_score must be a number from 0 to 1, or None, got {self.min_score!r}")
        if self.rerank is not None:  # a protocol takes long to ask
            check_kind(self.rerank, str | Reranker, "rerank", "a Reranker, the name of a model or None")

    def variety(self) -> dict[str, Any]:
        """Return the options that say which hits a list shows, as `sleuth.compose.variety.choose` takes them.

        In a sorted list no hit moves down because its document has others. In a folded list each value has its best
        hit, also where that repeats the text of another.
        """
        return {
            "fold_copies": self.fold_copies and self.collapse is None,
            "per_document": 0 if self.sort else self.per_document,
        }

    def check_offered(self, rerankers: Collection[str]) -> None:
        """Refuse a reranker that a server does not offer: a name makes it load a model.

        Raises:
            ArgumentError: lists those that are offered.
        """
        if self.rerank and self.rerank not in rerankers:
            raise ArgumentError(
                f"rerank must be among {', '.join(rerankers) or 'none'}, got {self.rerank!r}; "
                "`sleuth serve --rerank NAME` offers a model"
            )


def check_sources(names: Sequence[str]) -> None:
    """Refuse no sources at all, and a name that no source has.

    Raises:
        ArgumentError: lists those there are.
    """
    if not names:
        raise ArgumentError(f"sources must name at least one of {SPELLINGS}, got none")
    for name in names:
        if not isinstance(name, str) or not _SPELLING.fullmatch(name):
            raise ArgumentError(f"sources must be among {SPELLINGS}, got {name!r}")
