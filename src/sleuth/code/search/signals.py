"""Signals that a file answers a query, each scaled so that the best file has 1.

title, prose    the words of that part of the query, over whole files (BM25)
chunks          the three best chunks, weighing 1, 1/2, 1/3: many weak passages do not beat a good one (BM25)
path, names     words of the path; words of the names that the file defines
told            identifiers of the prose that are defined here, the rarer the better: pasted code names much that is the
                reader's own
named           paths, modules, qualified names and stack frames of the query that mean this file
stem            all words of its name are in the title, or begin or end as words there do; the root of 1 by the files
                of that name, and not scaled
phrases         neighbouring words of the title stand together in it, also in a name such as `broken_pipe`; of the best
                files by all else, which are read, as an index of pairs would be as large as the rest. Its best file has
                the root of the share of the pairs that it holds: where few stand anywhere, they say little
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import MOST_NAME
from sleuth.code.search.query import Pair, Query, parts_of
from sleuth.code.search.stems import Stems
from sleuth.remote import check_cancelled
from sleuth.store import LegRequest
from sleuth.text.analyzers import MAX_TOKEN

if TYPE_CHECKING:
    from sleuth.code.snapshots.shelf import WordSearcher
    from sleuth.code.snapshots.snapshot import Snapshot
    from sleuth.store.legs.leg import Bitmap

Scores = NDArray[np.float32]
"""One number per file of a snapshot, shape (n,), 0 and more."""

FILE_POOL = 1_000
CHUNK_POOL = 2_000
READ = 20
"""Files that are read: those that are best by all else."""
_MOST_BYTES = 300_000
_SHARES = (1.0, 1 / 2, 1 / 3)
_MAX_NAMES = 200


class Signals:
    """The signals of one query at one snapshot.

    Attributes:
        values: by name, scaled so that the best file has 1.
        peaks: by name, the raw score of that file.
        chunk_keys: of the chunks found, best first.
    """

    def __init__(self, snapshot: Snapshot, query: Query, allowed: NDArray[np.bool_] | None) -> None:
        """Compute them.

        Args:
            allowed: which files may answer, shape (n,); None for all.
        """
        self._snapshot = snapshot
        self._allowed = allowed
        self._n = len(snapshot.files)
        self.values: dict[str, Scores] = {}
        self.peaks: dict[str, float] = {}
        self.chunk_keys = np.zeros(0, np.int64)
        if not self._n:
            return
        searcher, views = snapshot.file_words
        masks = None if allowed is None else snapshot.bitmaps(views, snapshot.keys[allowed])
        words = {
            "title": ("body", query.title),
            "prose": ("body", query.prose),
            "path": ("path", query.terms),
            "names": ("names", query.title),
        }
        for name, (field, terms) in words.items():
            values = np.zeros(self._n, np.float32)
            if terms:
                keys, scores = best_rows(searcher, {field: terms}, FILE_POOL, self._n, masks)
                values[snapshot.positions_of_files(keys)] = scores
            self._keep(name, values)
        self._keep("chunks", self._chunks(query))
        self._keep("told", self._defines(query.told_names))
        self._keep("named", named(snapshot, query))
        self._keep("stem", snapshot.shared(Stems).scores(query.title, self._n), is_scaled=False)

    def read(self, query: Query, scores: Scores) -> None:
        """Adds the signal that needs the texts of files: of those that are best by `scores`, shape (n,)."""
        best = np.argsort(-scores, kind="stable")[:READ]
        best = best[scores[best] > 0]
        values = np.zeros(self._n, np.float32)
        if query.pairs:
            snapshot = self._snapshot
            values[best] = phrase_scores(query.pairs, [snapshot.source(snapshot.files[i]) for i in best])
        self._keep("phrases", values)
        root = np.float32(math.sqrt(self.peaks["phrases"]))
        self.values["phrases"] *= root
        self.peaks["phrases"] = float(root)

    def _keep(self, name: str, scores: Scores, *, is_scaled: bool = True) -> None:
        if self._allowed is not None:
            scores = np.where(self._allowed, scores, np.float32(0))
        peak = float(scores.max()) if is_scaled else 1.0
        self.peaks[name] = peak
        self.values[name] = (scores / peak if peak > 0 else scores).astype(np.float32)

    def _chunks(self, query: Query) -> Scores:
        snapshot = self._snapshot
        if not query.terms or not len(snapshot.chunk_keys):
            return np.zeros(self._n, np.float32)
        searcher, views = snapshot.chunk_words
        masks = None if self._allowed is None else snapshot.bitmaps(views, snapshot.chunks_of(self._allowed))
        rows = len(snapshot.chunk_keys)
        self.chunk_keys, scores = best_rows(searcher, {"context": query.terms}, CHUNK_POOL, rows, masks)
        return best_of(snapshot.positions_of_chunks(self.chunk_keys), scores, self._n)

    def _defines(self, names: Mapping[str, int]) -> Scores:
        """Sum over identifiers of idf / sqrt(df): a name that everybody defines says little."""
        out = np.zeros(self._n, np.float32)
        weights: dict[str, float] = {}
        for name, times in names.items():
            for part in (part for part in parts_of(name) if len(part) <= MAX_TOKEN):
                weights[part] = max(weights.get(part, 0.0), 1.0 + math.log(times))
        for part, weight in sorted(weights.items())[:_MAX_NAMES]:
            files = self._snapshot.files_with("defines", part)
            if files:
                out[files] += weight * math.log1p(self._n / len(files)) / math.sqrt(len(files))
        return out


def best_rows(
    searcher: WordSearcher,
    terms: Mapping[str, Mapping[str, float]],
    pool: int,
    rows: int,
    masks: Sequence[Bitmap | None] | None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Keys and scores of about `pool` rows, best first.

    Rows that tie with the last of the pool are left out: which of them would be in it depends on their keys, and so on
    what was indexed before. Where the whole pool ties, all rows that match are taken.

    Args:
        rows: how many there are.
    """
    hits = searcher.pool(terms, LegRequest(pool, allowed=masks))
    if len(hits.keys) < min(pool, rows) or pool >= rows:
        return hits.keys, hits.scores
    is_above = hits.scores > hits.scores[-1]
    if is_above.any():
        return hits.keys[is_above], hits.scores[is_above]
    hits = searcher.pool(terms, LegRequest(rows, allowed=masks))
    return hits.keys, hits.scores


def best_of(positions: NDArray[np.int64], scores: NDArray[np.float32], n: int) -> Scores:
    """Return for each file the sum of the scores of its best chunks, times `_SHARES`; shape (n,).

    Args:
        positions, scores: of chunks, best first, shape (m,): the position of the chunk's file, and the chunk's score.
        n: files.
    """
    order = np.argsort(positions, kind="stable")  # by file, the chunks of each best first
    files, scores = positions[order], scores[order]
    _, first_of_file, file_number = np.unique(files, return_index=True, return_inverse=True)
    rank_in_file = np.arange(len(files)) - first_of_file[file_number]
    sums = np.zeros(n, np.float32)
    for rank, share in enumerate(_SHARES):
        is_ranked = rank_in_file == rank
        sums[files[is_ranked]] += np.float32(share) * scores[is_ranked]
    return sums


def named(snapshot: Snapshot, query: Query) -> Scores:
    """Files that the query means by path, module, qualified name or stack frame; several meant share the credit."""
    out = np.zeros(len(snapshot.files), np.float32)
    for mention in query.files:
        steps = [step for step in re.split(r"[\\/]", mention) if step not in ("", ".", "..")]
        _credit(out, files_ending_with(snapshot, steps), 5)
    for name in query.names:
        check_cancelled()
        parts = parts_of(name) if len(name) <= MOST_NAME else []
        if len(parts) > 1:
            for end in range(len(parts), 1, -1):
                modules = snapshot.modules.get(".".join(parts[:end]))
                if modules:
                    _credit(out, modules, 3)
                    break
            for a, b in pairwise(parts):
                holders = set(snapshot.files_with("defines", a)) & set(snapshot.files_with("defines", b))
                _credit(out, sorted(holders), 5)
    for place, frame in enumerate(query.frames):
        files = files_ending_with(snapshot, [p for p in frame.path.split("/") if p])
        if len(files) == 1:
            out[files[0]] += (place + 1) / len(query.frames)
    return out


def _credit(out: Scores, files: Sequence[int], most: int) -> None:
    """Give one point to each of these files, unless there are too many."""
    if 0 < len(files) <= most:
        out[list(files)] += 1.0 / len(files)


def files_ending_with(snapshot: Snapshot, parts: list[str]) -> list[int]:
    """Files whose path shares the most last parts with a mention, at least one."""
    files: list[int] = []
    for size in range(1, len(parts) + 1):
        longer = snapshot.endings.get("/".join(parts[-size:]))
        if not longer:
            break
        files = longer
    return files


def phrase_scores(pairs: Sequence[Pair], texts: Sequence[bytes]) -> list[float]:
    """Return the share of the pairs in each text, in [0, 1]; a pair counts more the rarer it is among these texts.

    Args:
        texts: UTF-8; the first 300,000 bytes of each count.
    """
    lowered = [text[:_MOST_BYTES].lower() for text in texts]
    matches = [[pair for pair in pairs if _pattern(*pair).search(text)] for text in lowered]
    counts = Counter(pair for text_pairs in matches for pair in text_pairs)
    weights = {pair: math.log1p(len(texts) / max(1, counts[pair])) for pair in pairs}
    total = sum(weights.values()) or 1.0
    return [sum(weights[pair] for pair in text_pairs) / total for text_pairs in matches]


@lru_cache(maxsize=1024)
def _pattern(first: str, second: str) -> re.Pattern[bytes]:
    """Both stems, the first with any ending, with at most three signs between them and nothing else."""
    # without the last vowel, which stemming may have changed: "retri" stands for "retry"
    a, b = (re.escape((s.rstrip("iy") if len(s) > 3 else s).encode()) for s in (first, second))
    return re.compile(a + rb"[a-z]{0,5}[^a-z0-9]{0,3}" + b)
