"""Sleuth in MTEB: a search model, whose results stand beside those of other models.

import mteb
from sleuth.plugins.frameworks.mteb import SleuthSearch

results = mteb.evaluate(SleuthSearch(), mteb.get_tasks(["NFCorpus"]))
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sleuth
from sleuth.engine import WITHOUT_VARIETY, Engine
from sleuth.errors import ArgumentError, requires
from sleuth.filters import field
from sleuth.plugins.evaluation import best_passages
from sleuth.types import Document

with requires("mteb", "mteb", "a search model of MTEB"):
    from mteb.models.model_meta import ModelMeta

_ID = "mteb_id"
_PASSAGES = 2
"""Passages that are asked for each document, as in `sleuth.plugins.evaluation.make_run`."""


class SleuthSearch:
    """A `SearchProtocol` of MTEB: makes an index of each corpus, and ranks its documents by their best passages.

    Args:
        path: folder for the indexes, which are used again; None for one that goes with the object.
        embedder: as of `Engine.open`.
        name: under which MTEB keeps the results.
        options: of every `Engine.retrieve`, such as `legs` or `rerank`.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        embedder: Any = None,
        name: str = "sleuth/sleuth",
        **options: Any,
    ) -> None:
        self._own = None if path is not None else TemporaryDirectory(prefix="sleuth-mteb-")
        self._path = Path(self._own.name if self._own is not None else path)  # type: ignore[arg-type]
        self._embedder, self._name, self._options = embedder, name, options
        self._spelling = "default" if embedder is None else str(getattr(embedder, "fingerprint", embedder))
        self._engine: Engine | None = None

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """What MTEB says of the model."""
        facts = {
            "name": self._name,
            "revision": sleuth.__version__,
            "open_weights": True,
            "license": "mit",
            "modalities": ["text"],
            "model_type": ["hybrid"],
            "use_instructions": False,
            "experiment_kwargs": {
                "embedder": self._spelling,
                **{key: str(value) for key, value in self._options.items()},
            },
        }
        return ModelMeta.create_empty(facts)

    def index(self, corpus: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, **_: Any) -> None:
        """Make the index of a corpus."""
        self.close()
        folder = self._path / f"{task_metadata.name}-{hf_subset}-{hf_split}".replace("/", "-")
        self._engine = Engine.open(folder, create=True, embedder=self._embedder)
        self._engine.add(
            Document(row["text"], {_ID: row["id"], "title": row.get("title") or ""}, id=row["id"])
            for row in corpus
        )

    def search(
        self, queries: Any, *, top_k: int, top_ranked: dict[str, list[str]] | None = None, **_: Any
    ) -> dict[str, dict[str, float]]:
        """Return the scores of the best documents, by query and document.

        Args:
            top_ranked: the only documents that may be ranked, by query.
        """
        if self._engine is None:
            raise ArgumentError("index must be called before search")
        run = {}
        for row in queries:
            text = row["text"]
            if not isinstance(text, str):  # a conversation: of each turn a text, or a mapping with `content`
                text = "; ".join(turn if isinstance(turn, str) else turn["content"] for turn in text)
            text = " ".join(part for part in (text, row.get("instruction")) if part)
            among = (top_ranked or {}).get(row["id"])
            ranking = self._engine.retrieve(
                text,
                top_k * _PASSAGES,
                filter=None if among is None else field(_ID).is_in(among),
                **{**WITHOUT_VARIETY, **self._options},
            )
            run[row["id"]] = best_passages(ranking, top_k)
        return run

    def close(self) -> None:
        """Close the index."""
        if self._engine is not None:
            self._engine.close()
        self._engine = None
