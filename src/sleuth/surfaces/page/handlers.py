"""Answers the requests of the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)

from sleuth.errors import SleuthError
from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.surfaces.http import Call, Refusal, Service
from sleuth.surfaces.http.routes import check_fields
from sleuth.surfaces.http.service import call_of
from sleuth.surfaces.http.warming import LOCAL
from sleuth.surfaces.page import contents, files, results, sources
from sleuth.surfaces.page.answering import events_of
from sleuth.surfaces.page.markdown import parse, to_html
from sleuth.surfaces.page.security import HEADERS, admit, signed_in, signed_out
from sleuth.surfaces.page.state import OPTIONS, PageState, check_parameters
from sleuth.text.clean import escape_text

LONGEST = 200
"""Characters of a question that are completed."""

MOST_SUGGESTIONS = 8
MOST_FILES = 100
"""Files that a form adds at a time."""

_NO_STATE = PageState()
_TITLES = {404: "Not found.", 429: "Too many requests.", 503: "The server is busy."}
"""Titles of error pages by status."""


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
            "file": files.address,
            "has_keys": service.keys is not None,
            "options": OPTIONS,
        }
        self._environment.filters["markdown"] = lambda text: to_html(parse(text))

    def warm(self, call: Call, query: str) -> None:
        """Find and render a page as for a reader; an answer too, where no model writes it."""
        sources = tuple(name for name in call.sources if name.partition(":")[0] in LOCAL)
        if sources:
            state = PageState(query, sources=sources)
            values = results.results(call, state)
            self._render("results.html", state, offered=call.sources, milliseconds=0.0, **values)

    async def results(self, request: Request) -> Response:
        """Answer with the question field and the results; a question that follows others is rewritten first."""
        call = call_of(request)
        if request.query_params.get("follow") == "1" and admit(request, call):
            try:
                state = PageState.of(request.query_params, call.sources)
                query = await call.answers(results.standalone, call, state)
            except (SleuthError, Refusal) as error:
                refusal = call.refusal_of(error)
                return self._missing(str(refusal.detail), refusal.status_code)
            if query != state.query:
                state = replace(state, query=query, said=state.query)
            return RedirectResponse(state.address(), 303, headers=HEADERS)
        return await self._page(request, "results.html", results.results)

    async def source(self, request: Request) -> Response:
        """Answer with a document or file at the cited lines."""
        id = request.query_params.get("id", "")
        as_written = request.query_params.get("text") == "1"
        return await self._page(request, "source.html", sources.source, id, as_written)

    async def symbol(self, request: Request) -> Response:
        """Answer with the definitions and the uses of a name."""
        name = request.query_params.get("name", "")
        return await self._page(request, "symbol.html", contents.symbol, name)

    async def browse(self, request: Request) -> Response:
        """Answer with the folders and documents below a folder."""
        under = request.query_params.get("under", "")
        return await self._page(request, "browse.html", contents.browse, under)

    async def docs(self, request: Request) -> Response:
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
        values = {"operations": operations, "schemas": document["components"]["schemas"]}
        return await self._page(request, "docs.html", lambda *_: values)

    async def contents(self, request: Request) -> Response:
        """Answer with the state of the index."""
        return await self._page(request, "contents.html", contents.state_of_index)

    async def change(self, request: Request) -> Response:
        """Add the files of a form, or delete the document that it names, and go on to the state of the index."""
        from sleuth.surfaces.http import Upload
        from sleuth.surfaces.http.documents import add_files

        call = call_of(request)
        if not admit(request, call):
            return self._sign_in_form("/contents")
        try:
            call.require("write")
            async with request.form(max_files=MOST_FILES, max_fields=4) as form:
                check_fields(form, ("delete", "files"), ("files",), "form fields")
                files = [
                    file for file in form.getlist("files") if not isinstance(file, str) and file.filename
                ]
                id = str(form.get("delete", ""))
                if id and files:
                    return self._missing("Delete a document or add files, one at a time.", 422)
                if id:
                    await call.write(call.engine.delete, [id], timeout=call.remaining)
                elif files:
                    uploads = [Upload.of(file) for file in files]
                    await call.write(add_files, uploads, {}, call)
                else:
                    return self._missing("Choose the files to add.", 400)
        except (SleuthError, Refusal) as error:
            refusal = call.refusal_of(error)
            return self._missing(str(refusal.detail), refusal.status_code)
        return RedirectResponse("/contents", 303, headers=HEADERS)

    async def not_found(self, request: Request) -> Response:
        """Answer for an unknown path."""
        return self._missing(f"There is no page at {request.url.path}.")

    async def original(self, request: Request) -> Response:
        """Answer with the PDF that a document came from."""
        call = call_of(request)
        if not admit(request, call):
            return await self._page(request, "results.html", results.results)
        check_parameters(request.query_params)
        path: Path | None = await call.read(sources.original, call, request.query_params.get("id", ""))
        if path is None:
            return self._missing("There is no such PDF, or it has changed.")
        # The policy is for pages: under it, a browser's PDF viewer may be kept from loading its own scripts and styles.
        headers = {key: value for key, value in HEADERS.items() if key != "content-security-policy"}
        return FileResponse(
            path, media_type="application/pdf", headers=headers, content_disposition_type="inline"
        )

    async def picture(self, request: Request) -> Response:
        """Answer with the picture of a page of a PDF."""
        call = call_of(request)
        if not admit(request, call):
            raise Refusal(401, "KeyMissingError", "sign in first")
        check_parameters(request.query_params)
        id = request.query_params.get("id", "")
        data = await call.read(sources.picture, call, id, self._file_processes)
        if data is None:
            return self._missing("This page cannot be shown as a picture.")
        return Response(data, media_type="image/png", headers=HEADERS)

    async def answer(self, request: Request) -> Response:
        """Answer with a stream of events."""
        from sleuth.surfaces.http.ask import NO_BUFFER

        call = call_of(request)
        if not admit(request, call):
            raise Refusal(401, "KeyMissingError", "sign in first")
        call.require("read")
        state = PageState.of(request.query_params, call.sources)
        return StreamingResponse(
            events_of(call, state, self._render_answer),
            media_type="text/event-stream",
            headers=HEADERS | NO_BUFFER,
        )

    async def suggest(self, request: Request) -> Response:
        """Answer with completions of what a reader types."""
        from sleuth.surfaces.http.search import completions

        call = call_of(request)
        if not admit(request, call):
            raise Refusal(401, "KeyMissingError", "sign in first")
        check_parameters(request.query_params)
        prefix = request.query_params.get("q", "")[:LONGEST]
        suggestions = await call.read(completions, call, prefix, MOST_SUGGESTIONS)
        return JSONResponse({"suggestions": suggestions}, headers=HEADERS)

    async def sign_in(self, request: Request) -> Response:
        """Begin the session of a reader who has a key."""
        form = await request.form(max_files=0, max_fields=4)
        check_fields(form, ("key", "next"), (), "form fields")
        token, target = str(form.get("key", "")).strip(), str(form.get("next", "/"))
        sessions = self._service.sessions
        session = sessions.begin(token) if sessions is not None else None
        if session is None:
            return self._sign_in_form(target, 403, "This key is not known here, or has ended.")
        return signed_in(
            request, session, target if target.startswith("/") and target[1:2] not in "/\\" else "/"
        )

    async def sign_out(self, _: Request) -> Response:
        """End a session."""
        return signed_out()

    def _sign_in_form(self, target: str, status: int = 401, problem: str = "") -> Response:
        """Answer with the form that asks for a key and then goes on to `target`."""
        return self._render("sign_in.html", PageState(), status, target=target, problem=problem)

    def _missing(self, message: str, status: int = 404, state: PageState = _NO_STATE) -> Response:
        title = _TITLES.get(status, "That did not work.")
        return self._render("error.html", state, status, title=title, message=message)

    async def _page(
        self,
        request: Request,
        template: str,
        find: Callable[..., dict[str, Any]],
        *arguments: Any,
    ) -> Response:
        """Answer with a page whose values are computed in the queue of searches."""
        call = call_of(request)
        if not admit(request, call):
            target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return self._sign_in_form(target)
        state: PageState = PageState()
        began = time.perf_counter()
        try:
            offered = call.sources
            state = PageState.of(request.query_params, offered)
            values = await call.read(find, call, state, *arguments)
        except (SleuthError, Refusal) as error:
            refusal = call.refusal_of(error)
            return self._missing(str(refusal.detail), refusal.status_code, state)
        milliseconds = (time.perf_counter() - began) * 1000
        status = values.pop("status", 200)
        return self._render(template, state, status, offered=offered, milliseconds=milliseconds, **values)

    def _render(self, template: str, state: PageState, status: int = 200, **values: Any) -> Response:
        html = self._environment.get_template(template).render(
            state=state,
            is_start=template == "results.html" and not state.query,
            **values,
        )
        return HTMLResponse(html, status, headers=HEADERS)

    def _render_answer(self, answer: Mapping[str, Any]) -> str:
        """Return an answer as it stands in a page."""
        return str(self._environment.get_template("_pieces.html").module.answer_text(answer))  # type: ignore[attr-defined]
