"""Options of a search: each request is checked by boto3 against the service's own model."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from sleuth import Document, Engine
from sleuth import knowledge_base as kb
from sleuth.errors import ArgumentError
from sleuth.knowledge_base.results import uri_of
from sleuth.testing.aws import BedrockServer
from tests.knowledge_base.conftest import DS, KB

OPTIONS = json.loads(Path(__file__).with_name("options.json").read_text("utf8"))
RERANKING, IMPLICIT = OPTIONS["reranking"], OPTIONS["implicit filter"]
GUARDRAIL = {"guardrailId": "abcdefghij", "guardrailVersion": "1"}


@pytest.mark.parametrize(
    ("is_managed", "options", "members"),
    [
        (False, {"overrideSearchType": "HYBRID"}, {}),
        (False, {"rerankingConfiguration": RERANKING, "implicitFilterConfiguration": IMPLICIT}, {}),
        (False, {"overrideSearchType": "SEMANTIC"}, {"guardrailConfiguration": GUARDRAIL}),
        (True, {"rerankingModelType": "MANAGED"}, {"userContext": {"userId": "judy"}}),
        (True, {"rerankingModelType": "CUSTOM", "rerankingConfiguration": RERANKING}, {}),
        (True, {}, {}),
    ],
)
def test_options_are_sent_where_the_service_s_model_has_them(
    is_managed: bool, options: dict[str, Any], members: dict[str, Any]
) -> None:
    """Each slice has them beside its own filter and number of results, and boto3 finds the request sound."""
    client = boto3.client(
        "bedrock-agent-runtime",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",  # noqa: S106 - no secret
    )
    kind = "managedSearchConfiguration" if is_managed else "vectorSearchConfiguration"
    search = {
        "numberOfResults": 5,
        "filter": {"equals": {"key": "x-amz-bedrock-kb-data-source-id", "value": DS}},
        **options,
    }
    expected = {
        "knowledgeBaseId": KB,
        "retrievalQuery": {"text": "Judy"},
        "retrievalConfiguration": {kind: search},
        **members,
    }
    location = {"type": "ONEDRIVE", "oneDriveLocation": {"url": "https://one.example/judy"}}
    answer = {"retrievalResults": [{"content": {"text": "Judy"}, "location": location, "score": 0.5}]}
    for retriever in (
        kb.MultiSliceRetriever(client, is_managed=is_managed, options={**options, **members}),
        kb.KnowledgeBaseRetriever(
            KB, DS, client=client, is_managed=is_managed, options={**options, **members}
        ),
    ):
        with Stubber(client) as stubber:
            if isinstance(retriever, kb.MultiSliceRetriever):
                stubber.add_response("retrieve", answer, expected)
                (result,) = retriever.retrieve("Judy", KB, DS)
                assert uri_of(result) == "https://one.example/judy"
            else:
                search["numberOfResults"] = 100
                stubber.add_response("retrieve", answer, expected)
                assert [item.id for item in retriever.retrieve("Judy", 5)] == ["https://one.example/judy"]
            stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("is_managed", "name", "nearest"),
    [
        (False, "overideSearchType", "overrideSearchType"),
        (False, "filter", ""),
        (True, "overrideSearchType", ""),
        (True, "rerankingModeltype", "rerankingModelType"),
    ],
)
def test_unknown_options_are_refused(is_managed: bool, name: str, nearest: str) -> None:
    """A misspelt option is refused with the nearest name, and so is one of the other kind of search."""
    with pytest.raises(ArgumentError, match=f"did you mean '{nearest}'" if nearest else "must be"):
        kb.MultiSliceRetriever(object(), is_managed=is_managed, options={name: "x"})


def test_a_local_base_searches_as_it_is_asked(hybrid: Engine) -> None:
    """SEMANTIC is a search by vectors alone, HYBRID and a managed search are those of the index, through boto3 too."""
    hybrid.add([Document("Letters of the harbour.", id="a"), Document("Boats at the quay.", id="b")])
    local = kb.LocalKnowledgeBase(hybrid)
    with BedrockServer(local) as server:
        for client in (local, server.client("bedrock-agent-runtime")):
            for is_managed, options, legs in (
                (False, {"overrideSearchType": "HYBRID"}, None),
                (True, {"rerankingModelType": "NONE"}, None),
                (False, {"overrideSearchType": "SEMANTIC"}, ["dense"]),
            ):
                retriever = kb.MultiSliceRetriever(
                    client, timeout_seconds=30, is_managed=is_managed, options=options
                )
                results = retriever.retrieve("letters of a boat", KB, None)
                scores = [item.score or 0.0 for item in hybrid.retrieve("letters of a boat", 5, legs=legs)]
                expected = [score / (1 + score) for score in scores]
                assert [result["score"] for result in results] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("search", "members"),
    [
        ({"vectorSearchConfiguration": {"rerankingConfiguration": RERANKING}}, {}),
        ({"vectorSearchConfiguration": {"implicitFilterConfiguration": IMPLICIT}}, {}),
        ({"vectorSearchConfiguration": {"overrideSearchType": "WORDS"}}, {}),
        ({"managedSearchConfiguration": {"rerankingModelType": "MANAGED"}}, {}),
        ({"managedSearchConfiguration": {}, "vectorSearchConfiguration": {}}, {}),
        ({"vectorSearchConfiguration": {"overrideSearchType": "SEMANTIC"}}, {}),  # it has no vectors
        ({}, {"userContext": {"userId": "judy"}}),
        ({}, {"guardrailConfiguration": GUARDRAIL}),
    ],
)
def test_a_local_base_refuses_what_it_cannot_do(
    tmp_path: Path, search: dict[str, Any], members: dict[str, Any]
) -> None:
    """Models and users of AWS, unknown types and two kinds of search at once are a ValidationException."""
    with (
        Engine.open(tmp_path / "index", create=True, embedder="") as engine,
        pytest.raises(ClientError, match="ValidationException"),
    ):
        kb.LocalKnowledgeBase(engine).retrieve(
            knowledgeBaseId=KB, retrievalQuery={"text": "q"}, retrievalConfiguration=search, **members
        )
