"""Bodies of responses are read independent of their pieces."""

import io
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from threading import Thread
from time import sleep
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sleuth.errors import GenerationError
from sleuth.llm import Ollama, http
from sleuth.llm.http import AnswerError, error_message, read_all, read_lines
from sleuth.llm.urllib_client import UrllibAnswer
from sleuth.remote import BrokenError, Deadline


class _Socket:
    """The part of a socket that HTTPResponse uses: a file to read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self._data))


def response(chunks: list[bytes], *, whole: bool = True) -> UrllibAnswer:
    """Return a chunked response, truncated unless it is whole."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks if chunk)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = HTTPResponse(_Socket(head + body + (b"0\r\n\r\n" if whole else b"")))  # type: ignore[arg-type]
    answer.begin()
    return UrllibAnswer(ExitStack(), answer, answer.status, answer.headers)


pieces = st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"{}\n", b" \n"]), max_size=8)


@given(pieces)
def test_bodies_do_not_depend_on_their_pieces(chunks: list[bytes]) -> None:
    """A body and its lines are the same for any division into pieces; blank lines are skipped."""
    body = b"".join(chunks)
    assert read_all(response(chunks), Deadline(5)) == body
    assert list(read_lines(response(chunks), 5)) == [line for line in body.split(b"\n") if line.strip()]


@given(pieces)
def test_a_body_that_breaks_off_is_noticed(chunks: list[bytes]) -> None:
    """A truncated body raises an error, read whole or by line."""
    with pytest.raises(BrokenError, match="IncompleteRead"):
        read_all(response(chunks, whole=False), Deadline(5))
    with pytest.raises(BrokenError, match="IncompleteRead"):
        list(read_lines(response(chunks, whole=False), 5))


@given(st.integers(1, 20))
def test_thoughts_are_no_part_of_an_answer(size: int) -> None:
    """What is written before an answer between marks is left out, for any division into pieces."""
    for text, answer in (
        (" \n<think>\nHm. </thin\n</think>\n\nSo it is.", "So it is."),
        ("<think>Hm", ""),
        ("<thinly> sliced <think>", "<thinly> sliced <think>"),
        ("<", "<"),
    ):
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        assert "".join(http.without_thoughts(chunks)).lstrip() == answer


@given(st.binary(max_size=60))
@example(b"[" * 100_000)
def test_any_bytes_are_an_answer_or_an_error(body: bytes) -> None:
    """Any bytes of a server are JSON or raise an AnswerError."""
    try:
        expected = json.loads(body)
    except (ValueError, RecursionError):  # JSON may be nested too deeply
        with pytest.raises(AnswerError, match="not JSON"):
            http.parse(body)
        return
    if error_message(expected) is not None:
        with pytest.raises(AnswerError, match="with an error"):
            http.parse(body)
        return
    assert json.dumps(http.parse(body)) == json.dumps(expected)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"error": "no"}, "no"), ({"error": {"message": "no", "code": 1}}, "no"),
        ({"error": {"code": 1}}, '{"code": 1}'), ({"error": ""}, None),
        ({"error": None, "response": "x"}, None), ([], None), ({"error": "x" * 900}, "x" * 500),
    ],
)  # fmt: skip
def test_errors_in_bodies(answer: Any, message: str | None) -> None:
    """Both forms of error bodies are read and shortened."""
    assert error_message(answer) == message


@contextmanager
def raw_server(head: bytes, drip: bytes) -> Iterator[str]:
    """Serve a head, and then a few bytes again and again until the client leaves."""

    def answer() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(head)
                    while drip:
                        connection.sendall(drip)
                        sleep(0.05)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass  # closing over an unread request would reset the connection

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_an_error_that_drips_is_an_error_in_time() -> None:
    """Reading the text of an error takes no longer than the timeout."""
    head = b"HTTP/1.1 404 No\r\nContent-Length: 60000\r\n\r\n"
    with raw_server(head, b"a") as url, pytest.raises(GenerationError, match="answered 404: aa"):
        Ollama("m", url, timeout=2).complete("x")


def test_blank_lines_are_no_progress() -> None:
    """A stream of only line ends raises an error at the timeout."""
    with (
        raw_server(b"HTTP/1.1 200 OK\r\n\r\n", b"\n") as url,
        pytest.raises(GenerationError, match="did not answer"),
    ):
        list(Ollama("m", url, timeout=0.4).stream("x"))


@pytest.mark.parametrize(("length", "timeout"), [(b"\xb2\r\nConnection: close", 60), (b"34", float("inf"))])
def test_odd_lengths_and_timeouts(length: bytes, timeout: float) -> None:
    """A Content-Length with a digit that is not ASCII is ignored, and an infinite timeout is valid."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n" % length
    with raw_server(head + b'{"response": "well", "done": true}', b"") as url:
        assert Ollama("m", url, timeout=timeout).complete("x") == "well"
