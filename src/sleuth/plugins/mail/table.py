"""The formats of this plugin: how files of them are recognised, and what reads them."""

from __future__ import annotations

import re
from typing import Final

from sleuth.files import FileFormat

_maildir = re.compile(r"(?:.*/)?(?:(?:cur|new)/\d{9,}\.[^/]+|\d{9,}\.[^/]+[:;!]2,[A-Za-z]*)", re.DOTALL)
"""The path of a mail in a maildir: its name is a second since 1970, a unique name and flags."""


FORMATS: Final = (
    FileFormat(
        "email", "sleuth.plugins.mail.mime:load_email", [".eml"], form="markdown", is_named=_maildir.fullmatch
    ),
    FileFormat(
        "mhtml", "sleuth.plugins.mail.mime:load_mhtml", [".mhtml", ".mht"], form="markdown", holds_files=True
    ),
    FileFormat("mbox", "sleuth.plugins.mail.mime:load_mbox", [".mbox"], form="files", holds_files=True),
    FileFormat("msg", "sleuth.plugins.mail.outlook:load_msg", [".msg"], form="markdown", holds_files=True),
)
