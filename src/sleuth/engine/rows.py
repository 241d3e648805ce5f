"""Ranks the first rows that a plan asks for, in a sorted search and in a list, too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sleuth.engine.queries import all_words
from sleuth.engine.ranking import rank
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.engine.plan import SearchPlan
    from sleuth.engine.ranking import RankedRows

MOST_SORTED = 10_000
"""Passages that a sorted search orders: those with the best scores where more hold each word."""


def rows_of(plan: SearchPlan) -> RankedRows:
    """Return the first rows of the ranking that a plan asks for, or a list.

    A sorted search orders all passages that hold each word of its query, else the best ones; a note says which. A query
    for values of metadata alone lists what has them where it is sorted, or where no passage holds one of its words.
    """
    request, query, version, notes = plan.request, plan.query, plan.version, plan.notes
    options: dict[str, Any] = {"fusion": plan.fusion, "explain": request.explain, "exact": request.exact}
    is_sorted = request.sort is not None and not query.is_lookup
    if is_sorted and plan.searchers.word_leg in plan.legs:
        alternatives = {} if version.wider is None else version.wider.alternatives
        if words := all_words(query.text, plan.analyzer, alternatives):
            conditions = (*query.conditions, *words)
            legs = [plan.searchers.word_leg]
            rows = rank(
                version, query.text, MOST_SORTED, plan.tree, legs=legs, conditions=conditions, **options
            )
            if count := len(rows.keys):
                which = "all" if count < MOST_SORTED else "the best"
                noun = "passage that holds" if count == 1 else "passages that hold"
                notes.append(f"sorted: {which} {count:,} {noun} each word of the query")
                return rows
    options |= {"legs": plan.legs, "conditions": query.conditions}
    rows = rank(version, query.text, plan.rows, plan.tree, **options)
    if is_sorted and rows.keys:
        notes.append(f"sorted: the best {len(rows.keys):,} passages; none holds each word of the query")
    if not query.is_lookup or (request.sort is None and rows.keys):
        return rows
    keys = plan.searchers.lookup(query.conditions, plan.tree, plan.snapshot)
    explanation = Explanation("metadata", 0.0, "the metadata holds what the query asks for")
    listing = replace(
        rows, keys=keys, scores=[0.0] * len(keys), explain=lambda _: explanation, is_listing=True
    )
    return replace(listing, deeper=lambda _: listing)
