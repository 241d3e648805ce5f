"""What every request passes: its id, host, origin, key, limits and deadline, the log and the counts."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sleuth.remote import in_thread
from sleuth.surfaces.http.answers import EXPECTED, Dialect, Refusal, logger, problem
from sleuth.surfaces.http.keys import PREFIX, Key, KeyFile
from sleuth.surfaces.http.service import Call, Service
from sleuth.surfaces.http.tokens import AGENTS_PATH

_SLACK = 0.5
"""Seconds after the deadline in which a handler can still say that it passed."""

_REQUEST_ID = re.compile(rb"[\w.-]{1,64}")
"""Ids of callers that are kept."""


class Gate:
    """The outermost middleware of the application.

    Args:
        public: paths that need no key.
        answers: paths that a model may answer, which have more time.
        uploads: paths that take files, whose bodies may be larger.
        dialects: by path, what writes refusals there; problem documents elsewhere.
    """

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        *,
        public: frozenset[str],
        answers: frozenset[str],
        uploads: frozenset[str],
        dialects: Mapping[str, Dialect],
    ) -> None:
        self.app, self.service = app, service
        self.public, self.answers, self.uploads, self.dialects = public, answers, uploads, dialects
        self._hosts = {name.lower() for name in service.settings.allow_host}
        self._origins = frozenset(service.settings.cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # The server has no websockets, and would not check their origins.
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        started = time.monotonic()
        settings, headers = self.service.settings, dict(scope["headers"])
        path = scope["path"]
        seconds = settings.answer_deadline if path in self.answers else settings.deadline
        call = Call(self.service, started + seconds)
        if (sent_id := headers.get(b"x-request-id")) and _REQUEST_ID.fullmatch(sent_id):
            call.id = sent_id.decode()
        scope["sleuth.call"] = call
        answer = _Answer(send, call)
        body = _BodyReader(receive, settings.max_upload if path in self.uploads else settings.max_body)
        try:
            async with asyncio.timeout(seconds + _SLACK):
                await self._admit(call, scope, headers, body)
                await self.app(scope, body.receive, answer.send)
        except EXPECTED as error:
            refusal = call.refusal_of(error)
            if refusal.status_code == 405:  # the router names the methods of the first route of a path
                routes = [one for one in scope["app"].routes if isinstance(one, Route)]
                methods = {name for one in routes if one.path_regex.match(path) for name in one.methods or ()}
                refusal.headers = {"allow": ", ".join(sorted(methods))}
            await self._refuse(scope, receive, answer, refusal)
        except TimeoutError:
            late = Refusal(504, "DeadlineError", "the deadline of the request passed")
            if not body.whole:
                late = Refusal(408, "SlowRequestError", "the request did not arrive before its deadline")
            await self._refuse(scope, receive, answer, late)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            if not isinstance(error, ConnectionError | ClientDisconnect):  # else the client is gone
                fields = {"message": "the request failed", "request_id": call.id}
                logger.exception("the request failed", extra={"fields": fields})
                await self._refuse(scope, receive, answer, call.refusal_of(error))
        finally:
            self._record(call, scope, answer.status, time.monotonic() - started)

    async def _admit(self, call: Call, scope: Scope, headers: dict[bytes, bytes], body: _BodyReader) -> None:
        """Check what the head of a request says.

        Raises:
            Refusal: it is not let in.
        """
        host = headers.get(b"host", b"").decode("latin-1")
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].rstrip(".")
        # A page that lets its own name resolve to this machine (DNS rebinding) sends that name, never an address.
        if not ((name := name.lower()) == "localhost" or name in self._hosts or _is_address(name)):
            detail = f"Host must be an allowed name, got {host!r}; `sleuth serve --allow-host` adds one"
            raise Refusal(403, "HostError", detail)
        check_origin(headers, host, self._origins, scope["path"])
        keys = self.service.keys
        if keys is not None and scope["path"] not in self.public and scope["method"] != "OPTIONS":
            call.key = await self._authenticate(headers, scope["path"], keys)
            self.service.rates.take(call.key)
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > body.most:
            raise _too_large(body.most)

    async def _authenticate(self, headers: dict[bytes, bytes], path: str, keys: KeyFile) -> Key:
        """Return the key of a request's bearer token.

        The token is one of the server's own keys or, on the path of agents, an access token, which lacks their prefix.

        Raises:
            Refusal: 401, or as of `key_of` for an access token.
        """
        tokens = self.service.tokens if path == AGENTS_PATH else None
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        token = token.strip() if kind.lower() == "bearer" else ""
        if not token:
            challenge = {"www-authenticate": "Bearer" if tokens is None else tokens.challenge()}
            raise Refusal(401, "KeyMissingError", "send a key: `Authorization: Bearer KEY`", challenge)
        if tokens is not None and not token.startswith(PREFIX):
            return await in_thread(tokens.key_of, token)
        key = keys.find(token)
        if key is None:
            challenge = {"www-authenticate": 'Bearer error="invalid_token"'}
            raise Refusal(401, "KeyUnknownError", "the key is not known here, or has ended", challenge)
        return key

    async def _refuse(self, scope: Scope, receive: Receive, answer: _Answer, refusal: Refusal) -> None:
        """Answer a request that is refused, or failed, as the clients of its path expect it."""
        if answer.status:  # it has begun: the connection is closed, so that nobody takes it for whole
            raise ConnectionError("an answer that has begun cannot become a refusal")
        response = self.dialects.get(scope["path"], problem)(refusal, scope["sleuth.call"].id)
        if refusal.status_code in {408, 413}:
            response.headers["connection"] = "close"  # the rest of the body is not read
        await response(scope, receive, answer.send)

    def _record(self, call: Call, scope: Scope, status: int, seconds: float) -> None:
        matched: Any = scope.get("route")  # its template has no text of a client
        path = scope["path"] if scope["path"] in {*self.public, AGENTS_PATH} else "(none)"
        route = getattr(matched, "path_format", None) or getattr(matched, "path", "") or path
        self.service.metrics.requests_of(route, str(status)).inc()
        self.service.metrics.seconds_of(route).observe(seconds)
        if logger.isEnabledFor(20):
            entry = {
                "request_id": call.id,
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 2),
                "key": call.key.name,
                **call.facts,
            }
            logger.info("request", extra={"fields": entry})


class _Answer:
    """Sends an answer with its request's id, and the parts of a search that did not answer.

    Attributes:
        status: 0 until the answer begins.
    """

    __slots__ = ("_call", "_send", "status")

    def __init__(self, send: Send, call: Call) -> None:
        self._send, self._call, self.status = send, call, 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (b"x-request-id", self._call.id.encode())]
            if parts := self._call.facts.get("degraded"):
                headers.append((b"x-sleuth-degraded", quote(", ".join(parts), safe=", :/#").encode()))
            message["headers"] = headers
        await self._send(message)


class _BodyReader:
    """Receives the body of a request, up to a size.

    Attributes:
        most: bytes at most.
        whole: whether its end has come.
    """

    __slots__ = ("_receive", "_size", "most", "whole")

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self.most, self._size, self.whole = receive, most, 0, False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self.whole = not message.get("more_body", False)
            if self._size > self.most:
                raise _too_large(self.most)
        return message


def _too_large(most: int) -> Refusal:
    return Refusal(413, "TooLargeError", f"the body must have at most {most:,} bytes")


def check_origin(headers: dict[bytes, bytes], host: str, origins: Collection[str], path: str) -> None:
    """Refuse a request that a page of another site makes, unless that site is allowed.

    Following a link from another site to the page at `/` is fine: the browser shows the answer to its user alone.

    Raises:
        Refusal: 403.
    """
    origin = headers.get(b"origin")
    if origin is not None:
        text = origin.decode("latin-1")
        try:
            place = urlsplit(text).netloc.lower()
        except ValueError:  # such as http://[
            place = ""
        if text not in origins and place != host.lower():
            raise Refusal(403, "OriginError", f"Origin must be this server or an allowed site, got {text!r}")
        return
    site = headers.get(b"sec-fetch-site", b"none")
    is_link = headers.get(b"sec-fetch-mode") == b"navigate" and not path.startswith("/v1/")
    if site in {b"cross-site", b"same-site"} and not is_link:
        raise Refusal(403, "OriginError", "a page of another site must not make this request")


@lru_cache(maxsize=64)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
