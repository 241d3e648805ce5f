"""What a search for code asks, with every option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from sleuth.code.search.weights import read_weights
from sleuth.types.request import BaseRequest, Wire

_Texts = Annotated[Sequence[str] | None, Wire(list[str] | None)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest(BaseRequest):
    """A search for code. `CodeRetriever.retrieve` documents the options.

    Attributes:
        strategy: "hybrid" where None, and "keyword" where there is no embedder.
        weights: of the legs "keyword" and "vector", as a mapping or as text; those of the retriever where left out.

    Raises:
        ArgumentError: a value that breaks its rule.
    """

    repository: Annotated[
        str | None, Field(max_length=4096, description="Repository: id, path or URL. Default: the one here.")
    ] = None
    at: Annotated[
        str | None, Field(max_length=1000, description="Snapshot: commit, branch, tag or content id.")
    ] = None
    strategy: Annotated[
        str | None,
        Field(max_length=20, description="hybrid (default, where an embedder is), vector or keyword."),
    ] = None
    paths: Annotated[_Texts, Field(max_length=100, description="Only below this path.")] = None
    languages: Annotated[
        _Texts, Field(max_length=100, description="Only this language, by name or extension.")
    ] = None
    exclude_language: Annotated[
        _Texts, Field(max_length=100, description="Omit this language, by name or extension.")
    ] = None
    category: Annotated[
        _Texts, Field(max_length=5, description="Only code, test, docs, config or generated.")
    ] = None
    labels: Annotated[_Texts, Field(max_length=100, description="Only definitions with this label.")] = None
    tests: Annotated[bool, Field(description="Search tests too.")] = True
    exclude: Annotated[
        _Texts,
        Field(
            max_length=5,
            description="Omit test, docs, config or generated; vendored code counts as generated.",
        ),
    ] = None
    expand: Annotated[
        _Texts, Field(max_length=5, description="callers, callees, siblings, implementations or tests.")
    ] = None
    per_file: Annotated[int | None, Field(ge=1, description="Hits of one file at most.")] = None
    weights: Annotated[
        Mapping[str, float] | str | None,
        Wire(str | dict[str, float] | None),
        Field(
            description='What words and meaning weigh in a hybrid search, as in "keyword=1,vector=0.25".',
            examples=["keyword=1,vector=0.25", {"vector": 0.25}],  # OWN_WEIGHT
        ),
    ] = None
    explain: Annotated[bool, Field(description="Explain each score.")] = False

    def __post_init__(self) -> None:
        super(CodeRequest, self).__post_init__()
        read_weights(self.weights)

    @property
    def filters(self) -> Mapping[str, Any]:
        """The filters of `CodeRetriever.retrieve`."""
        excluded = [*(self.exclude or ()), *(() if self.tests else ("test",))]
        values = {
            "path_prefix": self.paths,
            "language": self.languages,
            "exclude_language": self.exclude_language,
            "category": self.category,
            "labels": self.labels,
            "exclude_category": excluded,
        }
        return {key: list(value) for key, value in values.items() if value}
