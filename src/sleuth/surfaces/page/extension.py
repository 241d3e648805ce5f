"""The page of a server: its paths, and what answers each of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from importlib.resources import files as resources_of
from typing import Any, TypeAlias

from fastapi import FastAPI
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from sleuth.errors import SleuthError
from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.surfaces.http import Call, Extension, Refusal, Service, Upload, add_files
from sleuth.surfaces.http.app import LOCAL, Warmer
from sleuth.surfaces.http.keys import SECONDS
from sleuth.surfaces.http.routes import check_fields
from sleuth.surfaces.http.search import suggest
from sleuth.surfaces.http.service import call_of
from sleuth.surfaces.page import contents, results, sources
from sleuth.surfaces.page.answering import events_of
from sleuth.surfaces.page.markup import parse, to_html
from sleuth.surfaces.page.state import OPTIONS, PageState
from sleuth.text.clean import escape_text

LONGEST = 200
"""Characters of a question that are completed."""

MOST_SUGGESTIONS = 8
MOST_FILES = 100
"""Files that a form adds at a time."""

COOKIE = "sleuth_session"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
"""Only our own files run and are loaded, no text becomes markup or script, and no other site frames a page."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


_TITLES = {404: "Not found.", 429: "Too many requests.", 503: "The server is busy."}
"""Titles of error pages by status."""

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES = {
    path.name: path.read_bytes() for path in (resources_of("sleuth.surfaces.page") / "static").iterdir()
}
_VERSION = blake2b(b"".join(map(_FILES.__getitem__, sorted(_FILES))), digest_size=6).hexdigest()
"""Part of the addresses of the page's own files: another content has another address."""

_FOUND: dict[str, tuple[str, Callable[[Call, PageState, QueryParams], dict[str, Any]]]] = {
    "/": ("results.html", results.results),
    "/browse": ("browse.html", contents.browse),
    "/contents": ("contents.html", contents.state_of_index),
    "/source": ("source.html", sources.source),
    "/symbol": ("symbol.html", contents.symbol),
}
"""Of a path its template, and what finds the values that the template shows."""
_PAGES = (*_FOUND, "/change", "/docs", "/original")
_PARTS = ("/answer", "/picture", "/suggest")
"""What a page loads: a reader who is not signed in gets no form here."""
_SESSIONS = ("/sign-in", "/sign-out")
_POSTS = ("/change", *_SESSIONS)

Handler: TypeAlias = Callable[[Request, Call, PageState], Awaitable[Response]]


def page_extension() -> Extension:
    """Return the page at `/`. Its requests need no `Authorization`; readers sign in with their key."""
    paths = (*_PAGES, *_PARTS, *_SESSIONS, *map(address, _FILES))
    return Extension(_install, public=paths, answers=("/answer",))


def _install(app: FastAPI, service: Service) -> Warmer:
    page = PageHandlers(service)
    handlers: dict[str, Callable[[Request], Awaitable[Response]]] = {}
    for path in (*_PAGES, *_PARTS):
        handler = getattr(page, path[1:], None) or partial(page.find, path)
        handlers[path] = partial(page.admitted, handler, is_page=path in _PAGES)
    handlers |= {"/sign-in": page.sign_in, "/sign-out": page.sign_out}
    headers = {**HEADERS, "cache-control": "public, max-age=31536000, immutable"}
    for name, content in _FILES.items():
        file = Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers=headers)
        app.router.add_route(address(name), file, methods=["GET"], include_in_schema=False)  # type: ignore[arg-type]
    for path, answer in handlers.items():
        methods = ["POST" if path in _POSTS else "GET"]
        app.router.add_route(path, answer, methods=methods, include_in_schema=False)
    default = app.router.default

    async def answer_without_route(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            response = page.failure(f"There is no page at {request.url.path}.")
            await response(scope, receive, send)
        else:
            await default(scope, receive, send)

    app.router.default = answer_without_route
    return page.warm


def address(name: str) -> str:
    """Return the address of a file of the page."""
    return f"/static/{_VERSION}/{name}"


class PageHandlers:
    """The handlers over one service."""

    def __init__(self, service: Service) -> None:
        options = ReadOptions()
        self._service = service
        self._file_processes = FileProcesses(options.max_seconds, options.max_memory_bytes)
        service.resources.callback(self._file_processes.close)
        self._environment = Environment(
            loader=PackageLoader("sleuth.surfaces.page"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            # Markup has its escapes.
            finalize=lambda value: escape_text(value) if type(value) is str else value,
        )
        self._environment.globals |= {
            "file": address,
            "has_keys": service.keys is not None,
            "options": OPTIONS,
        }
        self._environment.filters["markdown"] = lambda text: to_html(parse(text))

    def warm(self, call: Call, query: str) -> None:
        """Find and render a page as for a reader; an answer too, where no model writes it."""
        sources = tuple(name for name in call.sources if name.partition(":")[0] in LOCAL)
        if sources:
            state = PageState(query, sources=sources)
            values = results.results(call, state, QueryParams())
            self._render("results.html", state, offered=call.sources, milliseconds=0.0, **values)

    async def admitted(self, handler: Handler, request: Request, *, is_page: bool) -> Response:
        """Answer a reader who is signed in; others get the form to sign in, as a browser sends no `Authorization`.

        An error is a page, too, unless what is asked for is a part of one.
        """
        call, state, url = call_of(request), PageState(), request.url
        keys, sessions = call.service.keys, call.service.sessions
        if keys is not None and sessions is not None:
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            is_bearer = kind.lower() == "bearer"
            key = keys.find(token.strip()) if is_bearer else sessions.find(request.cookies.get(COOKIE, ""))
            if key is None or "read" not in key.scopes:
                if not is_page:
                    raise Refusal(401, "KeyMissingError", "sign in first")
                target = url.path + (f"?{url.query}" if url.query else "")
                problem = "" if key is None else "This key may not read."
                return self._sign_in_form("/contents" if request.method == "POST" else target, 401, problem)
            call.key = key
        try:
            call.service.rates.take(call.key)
            state = PageState.of(request.query_params, call.sources)
            return await handler(request, call, state)
        except (SleuthError, Refusal) as error:
            if not is_page:
                raise
            refusal = call.refusal_of(error)
            return self.failure(str(refusal.detail), refusal.status_code, state)

    async def find(self, path: str, request: Request, call: Call, state: PageState) -> Response:
        """Answer with a page whose values are computed in the queue of searches.

        For a question that follows others, that is the page of the question that stands alone.
        """
        if request.query_params.get("follow") == "1":
            query = await call.answers(results.standalone, call, state)
            if query != state.query:
                state = replace(state, query=query, said=state.query)
            return RedirectResponse(state.address(), 303, headers=HEADERS)
        template, find = _FOUND[path]
        began = time.perf_counter()
        values = await call.read(find, call, state, request.query_params)
        milliseconds, status = (time.perf_counter() - began) * 1000, values.pop("status", 200)
        return self._render(
            template, state, status, offered=call.sources, milliseconds=milliseconds, **values
        )

    async def docs(self, request: Request, _: Call, state: PageState) -> Response:
        """Answer with the reference of the HTTP API."""
        document = request.app.openapi()
        operations = [
            {
                "tag": (operation.get("tags") or ["server"])[0],
                "name": f"{method.upper()} {path}",
                "fields": [(field["name"], field["schema"]) for field in operation.get("parameters", ())],
                "required": {
                    field["name"] for field in operation.get("parameters", ()) if field.get("required")
                },
                **operation,
            }
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]
        schemas = document["components"]["schemas"]
        return self._render("docs.html", state, operations=operations, schemas=schemas)

    async def change(self, request: Request, call: Call, _: PageState) -> Response:
        """Add the files of a form, or delete the document that it names, and go on to the state of the index."""
        call.require("write")
        async with request.form(max_files=MOST_FILES, max_fields=4) as form:
            check_fields(form, ("delete", "files"), ("files",), "form fields")
            files = [file for file in form.getlist("files") if not isinstance(file, str) and file.filename]
            id = str(form.get("delete", ""))
            if id and files:
                return self.failure("Delete a document or add files, one at a time.", 422)
            if id:
                await call.write(call.engine.delete, [id], timeout=call.remaining)
            elif files:
                await call.write(add_files, [Upload.of(file) for file in files], {}, call)
            else:
                return self.failure("Choose the files to add.", 400)
        return RedirectResponse("/contents", 303, headers=HEADERS)

    async def original(self, request: Request, call: Call, _: PageState) -> Response:
        """Answer with the PDF that a document came from."""
        path = await call.read(sources.original, call, request.query_params.get("id", ""))
        if path is None:
            return self.failure("There is no such PDF, or it has changed.")
        # The policy is for pages: under it, a browser's PDF viewer may be kept from loading its own scripts and styles.
        headers = {key: value for key, value in HEADERS.items() if key != "content-security-policy"}
        return FileResponse(
            path, media_type="application/pdf", headers=headers, content_disposition_type="inline"
        )

    async def picture(self, request: Request, call: Call, _: PageState) -> Response:
        """Answer with the picture of a page of a PDF."""
        id = request.query_params.get("id", "")
        data = await call.read(sources.picture, call, id, self._file_processes)
        if data is None:
            return self.failure("This page cannot be shown as a picture.")
        return Response(data, media_type="image/png", headers=HEADERS)

    async def answer(self, _: Request, call: Call, state: PageState) -> Response:
        """Answer with a stream of events."""
        render = self._environment.get_template("_pieces.html").module.answer_text  # type: ignore[attr-defined]
        response = await events_of(call, state, render)
        response.headers.update(HEADERS)
        return response

    async def suggest(self, request: Request, call: Call, _: PageState) -> Response:
        """Answer with completions of what a reader types."""
        prefix = request.query_params.get("q", "")[:LONGEST]
        return JSONResponse(await call.read(suggest, call, prefix, MOST_SUGGESTIONS), headers=HEADERS)

    async def sign_in(self, request: Request) -> Response:
        """Begin the session of a reader who has a key."""
        form = await request.form(max_files=0, max_fields=4)
        check_fields(form, ("key", "next"), (), "form fields")
        token, target = str(form.get("key", "")).strip(), str(form.get("next", "/"))
        sessions = self._service.sessions
        session = sessions.begin(token) if sessions is not None else None
        if session is None:
            return self._sign_in_form(target, 403, "This key is not known here, or has ended.")
        is_ours = target.startswith("/") and target[1:2] not in "/\\"
        response = RedirectResponse(target if is_ours else "/", 303, headers=HEADERS)
        is_secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, session, max_age=SECONDS, httponly=True, samesite="strict", secure=is_secure, path="/"
        )
        return response

    async def sign_out(self, _: Request) -> Response:
        """End a session."""
        response = RedirectResponse("/", 303, headers=HEADERS)
        response.delete_cookie(COOKIE, path="/")
        return response

    def failure(self, message: str, status: int = 404, state: PageState | None = None) -> Response:
        """Answer with a page that says what is wrong."""
        title = _TITLES.get(status, "That did not work.")
        return self._render("error.html", state or PageState(), status, title=title, message=message)

    def _sign_in_form(self, target: str, status: int = 401, problem: str = "") -> Response:
        """Answer with the form that asks for a key and then goes on to `target`."""
        return self._render("sign_in.html", PageState(), status, target=target, problem=problem)

    def _render(self, template: str, state: PageState, status: int = 200, **values: Any) -> Response:
        is_start = template == "results.html" and not state.query
        html = self._environment.get_template(template).render(state=state, is_start=is_start, **values)
        return HTMLResponse(html, status, headers=HEADERS)
