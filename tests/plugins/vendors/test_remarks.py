"""What is wrong with an answer reaches the clients of other services, too."""

from collections.abc import Callable
from typing import Any

import openai
import pytest

from tests.surfaces.http import test_remarks
from tests.surfaces.http.conftest import Local
from tests.surfaces.http.test_remarks import IN_ANSWERS, IN_SEARCHES, QUERY, Remarks, of_answer, of_ranking

troubled = test_remarks.troubled

UNKNOWN_KEY: Any = {"type": "ne", "key": "tenent", "value": "zoo"}
"""A filter by a key that no document has, which is noted of a search."""

MESSAGES: Any = [{"role": "user", "content": QUERY}]


def client_of(server: Local) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0)


def vector_store(server: Local) -> Remarks:
    with client_of(server) as client:
        page = client.vector_stores.search("sleuth", query=QUERY, filters=UNKNOWN_KEY)
        return of_ranking(page.model_extra)


def chat(server: Local) -> Remarks:
    with client_of(server) as client:
        return of_answer(client.chat.completions.create(model="sleuth", messages=MESSAGES).model_extra)


def chat_streamed(server: Local) -> Remarks:
    with client_of(server) as client:
        chunks = list(client.chat.completions.create(model="sleuth", messages=MESSAGES, stream=True))
    return of_answer(chunks[-1].model_extra)


def response(server: Local) -> Remarks:
    with client_of(server) as client:
        return of_answer(client.responses.create(model="sleuth", input=QUERY).model_extra)


def response_streamed(server: Local) -> Remarks:
    with client_of(server) as client:
        *_, last = client.responses.create(model="sleuth", input=QUERY, stream=True)
    assert last.type == "response.completed"
    return of_answer(last.response.model_extra)


def dify(server: Local) -> Remarks:
    condition = {"name": "tenent", "comparison_operator": "is not", "value": "zoo"}
    body = {"knowledge_id": "sleuth", "query": QUERY, "metadata_condition": {"conditions": [condition]}}
    body["retrieval_setting"] = {"top_k": 3, "score_threshold": 0}
    return of_ranking(server.client.post("/retrieval", json=body).json())


SEARCHES = (vector_store, dify)
ANSWERS = (chat, chat_streamed, response, response_streamed)
DOORS = [*((door, IN_SEARCHES) for door in SEARCHES), *((door, IN_ANSWERS) for door in ANSWERS)]


@pytest.mark.parametrize(("door", "note"), DOORS, ids=[door.__name__ for door, _ in DOORS])
def test_each_client_is_told(troubled: Local, door: Callable[[Local], Remarks], note: str) -> None:
    """Each door of other services says so, too."""
    test_remarks.test_each_client_is_told(troubled, door, note)
