"""OpenTelemetry spans of requests and searches, by its API; nothing where it is not installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from starlette.types import Scope

try:
    from opentelemetry import trace
    from opentelemetry.propagate import extract
except ImportError:  # spans are an offer
    trace = None  # type: ignore[assignment]


@contextmanager
def request_span(scope: Scope, request_id: str) -> Iterator[Callable[[int], None]]:
    """Open the server span of a request, below that of its caller if it sent one.

    Yields:
        What tells the span the status of the answer.
    """
    if trace is None or not _is_recording():
        yield lambda status: None
        return
    carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    attributes = {
        "http.request.method": scope["method"],
        "url.scheme": scope["scheme"],
        "sleuth.request_id": request_id,
    }
    with trace.get_tracer("sleuth").start_as_current_span(
        scope["method"], extract(carrier), trace.SpanKind.SERVER, attributes
    ) as span:

        def finish(status: int) -> None:
            route = getattr(scope.get("route"), "path", "")
            span.update_name(f"{scope['method']} {route}".rstrip())
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                span.set_status(trace.StatusCode.ERROR)

        yield finish


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
