"""OpenTelemetry spans of requests and searches, by its API; nothing where it is not installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from starlette.types import Scope

try:
    from opentelemetry import trace
    from opentelemetry.propagate import extract
except ImportError:  # spans are an offer
    trace = None  # type: ignore[assignment]


class RequestSpan:
    """The span of one request; does nothing without a tracer."""

    __slots__ = ("_span",)

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def finish(self, scope: Scope, status: int) -> None:
        """Tell the span how the request went."""
        if self._span is None:
            return
        route = getattr(scope.get("route"), "path", "")
        self._span.update_name(f"{scope['method']} {route}".rstrip())
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(trace.StatusCode.ERROR)


_NO_SPAN = nullcontext(RequestSpan())


def request_span(scope: Scope, request_id: str) -> AbstractContextManager[RequestSpan]:
    """Open the server span of a request, below that of its caller if it sent one."""
    if trace is None or not _is_recording():
        return _NO_SPAN
    return _recorded(scope, request_id)


@contextmanager
def _recorded(scope: Scope, request_id: str) -> Iterator[RequestSpan]:
    carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    attributes = {
        "http.request.method": scope["method"],
        "url.scheme": scope["scheme"],
        "sleuth.request_id": request_id,
    }
    with trace.get_tracer("sleuth").start_as_current_span(
        scope["method"], extract(carrier), trace.SpanKind.SERVER, attributes
    ) as span:
        yield RequestSpan(span)


@contextmanager
def retrieval_span(source: str, query: str | None, attributes: Mapping[str, Any]) -> Iterator[Any]:
    """Open the span of a search, by OpenTelemetry's conventions for retrieval.

    Args:
        source: names the index.
        query: None if its text must not appear.
        attributes: further ones, such as `gen_ai.request.top_k`.
    """
    if trace is None or not _is_recording():
        yield None
        return
    values = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": source, **attributes}
    if query is not None:
        values["gen_ai.retrieval.query.text"] = query
    with trace.get_tracer("sleuth").start_as_current_span(
        f"retrieval {source}",
        kind=trace.SpanKind.INTERNAL,
        attributes=values,
        record_exception=False,  # its message may hold the query
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(trace.StatusCode.ERROR)
            raise


def _is_recording() -> bool:
    """Return whether a tracer provider is set: spans that nobody records cost a tenth of a small request."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
