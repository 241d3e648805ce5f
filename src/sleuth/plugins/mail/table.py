"""The formats of this plugin: how files of them are recognised, and what reads them."""

from __future__ import annotations

import re
from typing import Any, Final

from sleuth.files import FileFormat

_maildir = re.compile(r"(?:cur|new)/\d{9,}\.[^/]+|(?:[^/]*/)?\d{9,}\.[^/]+[:;!]2,[A-Za-z]*")
"""The end of the path of a mail in a maildir: a second since 1970, a unique name and flags."""


def _is_in_maildir(path: str) -> bool:
    start = path.rfind("/") + 1
    return path[start : start + 1].isdigit() and bool(_maildir.fullmatch("/".join(path.rsplit("/", 2)[-2:])))


def _format(kind: str, load: str, extensions: str, **fields: Any) -> FileFormat:
    names = [f".{one}" for one in extensions.split()]
    return FileFormat(kind, f"sleuth.plugins.mail.{load}", names, **{"form": "markdown", **fields})


FORMATS: Final = (
    _format("email", "mime:load_email", "eml", is_named=_is_in_maildir),
    _format("mhtml", "mime:load_mhtml", "mhtml mht", holds_files=True),
    _format("mbox", "mime:load_mbox", "mbox", form="files", holds_files=True),
    _format("msg", "outlook:load_msg", "msg", holds_files=True),
)
