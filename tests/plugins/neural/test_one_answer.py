"""Every door gives the order and the scores of a reranker."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sleuth.plugins.neural import OnnxCrossEncoder
from tests.commands import sleuth
from tests.plugins.neural import tiny
from tests.surfaces.test_one_answer import RERANKER, Place, Question, command, http, mcp, page, place, python

__all__ = ["place"]


@pytest.mark.parametrize("sources", [["docs"], ["code"], ["docs", "code"]], ids=str)
@pytest.mark.parametrize("explain", [True, False])
def test_scores_after_reranking_are_those_of_the_reranker(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: list[str], explain: bool
) -> None:
    """Each door shows the order of the reranker, its scores and, if asked, its explanations."""
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path))
    model = OnnxCrossEncoder(tiny.write_cross_encoder(tmp_path / RERANKER))
    options: dict[str, Any] = {"rerank": RERANKER, "sources": sources, "explain": explain}
    options["fold_copies"] = True
    question = Question("token bucket", options)
    ranking = place.sources.retrieve(question.query, **options)
    assert len(ranking) > 1
    expected = model.predict([(question.query, item.text) for item in ranking])
    assert [item.score for item in ranking] == pytest.approx(sorted(expected, reverse=True))
    assert expected[0] > expected[-1]
    ids = [item.id for item in ranking]
    for door in (python, command, http, mcp, page):
        assert door(place, question).ids == ids, door.__name__
    body = {"query": question.query, **options}
    items_over_http = place.server.client.post("/v1/search", json=body).json()["items"]
    words = ["search", "--json", "--rerank", RERANKER, *(f"--in={name}" for name in sources)]
    words += ["--explain", question.query] if explain else [question.query]
    printed = json.loads(sleuth(*words, cwd=place.root).stdout)["items"]
    for items in (items_over_http, printed):
        assert [item["score"] for item in items] == [item.score for item in ranking]
    explanations = [item.get("explanation", {}).get("value") for item in items_over_http]
    assert explanations == [item.score if explain else None for item in ranking]
    assert all(("explanation" in item["extra"]) is explain for item in printed)
    html = place.server.client.get("/", params={"q": question.query, "rerank": RERANKER, "in": sources}).text
    shares = [float(score) for score in re.findall(r'<span class="score">(.*?)</span>', html)]
    assert len(shares) == len(ranking) and all(0 <= share <= 1 for share in shares)
