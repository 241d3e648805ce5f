"""Bodies as they are read, whatever pieces they come in."""

from __future__ import annotations

import http.client
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.llm.http import AnswerError, error_message, parse, read_all, read_lines
from sleuth.retry import Deadline


class _Socket:
    """What HTTPResponse asks of a socket: a file to read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self._data))


def response(chunks: list[bytes], *, whole: bool = True) -> http.client.HTTPResponse:
    """A chunked answer; broken off before its end where it is not whole."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks if chunk)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    made = http.client.HTTPResponse(_Socket(head + body + (b"0\r\n\r\n" if whole else b"")))  # type: ignore[arg-type]
    made.begin()
    return made


pieces = st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"{}\n", b" \n"]), max_size=8)


@given(pieces)
def test_bodies_do_not_depend_on_their_pieces(chunks: list[bytes]) -> None:
    """A body, and its lines, are the same however it was cut on its way; blank lines are left out."""
    body = b"".join(chunks)
    assert read_all(response(chunks), Deadline(5)) == body
    assert list(read_lines(response(chunks), 5)) == [line for line in body.split(b"\n") if line.strip()]


@given(pieces)
def test_a_body_that_breaks_off_is_noticed(chunks: list[bytes]) -> None:
    """A body without its end is an error, read whole or by line."""
    with pytest.raises(http.client.IncompleteRead):
        read_all(response(chunks, whole=False), Deadline(5))
    with pytest.raises(http.client.IncompleteRead):
        list(read_lines(response(chunks, whole=False), 5))


@given(st.binary(max_size=60))
def test_any_bytes_are_an_answer_or_an_error(body: bytes) -> None:
    """Whatever a server sends is JSON or an AnswerError."""
    try:
        expected = json.loads(body)
    except ValueError:
        with pytest.raises(AnswerError, match="not JSON"):
            parse(body)
        return
    assert json.dumps(parse(body)) == json.dumps(expected)


def test_deep_json_is_no_crash() -> None:
    """JSON that is nested too deeply is an AnswerError."""
    with pytest.raises(AnswerError, match="not JSON"):
        parse(b"[" * 100_000)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"error": "no"}, "no"),
        ({"error": {"message": "no", "code": 1}}, "no"),
        ({"error": {"code": 1}}, '{"code": 1}'),
        ({"error": ""}, None),
        ({"error": None, "response": "x"}, None),
        ([], None),
        ({"error": "x" * 900}, "x" * 500),
    ],
)
def test_errors_in_bodies(answer: Any, message: str | None) -> None:
    """Both forms of error bodies are read, and shortened."""
    assert error_message(answer) == message
