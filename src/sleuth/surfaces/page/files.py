"""The page's own style sheet, scripts and icon, by a name that changes with their content."""

from __future__ import annotations

from hashlib import blake2b
from importlib.resources import files as resources_of

from starlette.requests import Request
from starlette.responses import Response

from sleuth.surfaces.page.security import HEADERS

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_NAMES = (
    "page.css",
    "page.js",
    *(f"{name}.js" for name in ("answer", "chrome", "keyboard", "navigate", "preview", "suggest", "theme")),
    "icon.svg",
)
_CONTENTS = {name: (resources_of("sleuth.surfaces.page") / "static" / name).read_bytes() for name in _NAMES}
_VERSION = blake2b(b"".join(_CONTENTS.values()), digest_size=6).hexdigest()

PATHS = tuple(f"/static/{_VERSION}/{name}" for name in _NAMES)
_BY_PATH = dict(zip(PATHS, _NAMES, strict=True))


def address(name: str) -> str:
    """Return the address of a file of the page."""
    return f"/static/{_VERSION}/{name}"


async def answer(path: str, _: Request) -> Response:
    """Answer with a file, which browsers may keep for ever."""
    name = _BY_PATH[path]
    headers = {**HEADERS, "cache-control": "public, max-age=31536000, immutable"}
    return Response(_CONTENTS[name], media_type=_TYPES[name.rpartition(".")[2]], headers=headers)
