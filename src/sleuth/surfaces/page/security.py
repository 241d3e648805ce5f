"""The headers of every page, and the session of a reader with a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from sleuth.surfaces.http.keys import SECONDS

if TYPE_CHECKING:
    from starlette.requests import Request

    from sleuth.surfaces.http import Call

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


def admit(request: Request, call: Call) -> bool:
    """Give a call the key of its reader's session; return False if the server requires a session and none exists.

    The paths of the page need no `Authorization`, since a browser does not send it.
    """
    keys, sessions = call.service.keys, call.service.sessions
    if keys is None or sessions is None:
        return True
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    is_bearer = kind.lower() == "bearer"
    key = keys.find(token.strip()) if is_bearer else sessions.find(request.cookies.get(COOKIE, ""))
    if key is None or "read" not in key.scopes:
        return False
    call.key = key
    call.service.rates.take(key)
    return True


def signed_in(request: Request, session: str, target: str) -> Response:
    """Begin a session and redirect to a page of this server."""
    response = RedirectResponse(target, 303, headers=HEADERS)
    response.set_cookie(
        COOKIE,
        session,
        max_age=SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


def signed_out() -> Response:
    """End a session."""
    response = RedirectResponse("/", 303, headers=HEADERS)
    response.delete_cookie(COOKIE, path="/")
    return response
