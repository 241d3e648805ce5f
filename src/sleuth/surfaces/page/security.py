"""The headers of every page, and the session of a reader with a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.requests import Request

    from sleuth.surfaces.http import Call

COOKIE = "sleuth_key"

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
    """Give a call the key of its reader's session; False where the server wants one and there is none.

    The paths of the page need no `Authorization`, since a browser sends none.
    """
    keys = call.service.keys
    if keys is None:
        return True
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        token = request.cookies.get(COOKIE, "")
    key = keys.find(token.strip()) if token.strip() else None
    if key is None or "read" not in key.scopes:
        return False
    call.key = key
    return True


def signed_in(request: Request, token: str, target: str) -> Response:
    """Begin a session and go on to a page of ours."""
    response = RedirectResponse(target, 303, headers=HEADERS)
    response.set_cookie(
        COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/"
    )
    return response


def signed_out() -> Response:
    """End a session."""
    response = RedirectResponse("/", 303, headers=HEADERS)
    response.delete_cookie(COOKIE, path="/")
    return response
