"""Mail in a folder of an IMAP server, `imaps://USER@HOST/FOLDER`; reading it marks nothing as seen."""

from __future__ import annotations

import imaplib
import os
import re
import shlex
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from email.utils import mktime_tz, parsedate_tz
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from sleuth.errors import ArgumentError, RemoteError
from sleuth.ingest import FileEntry, Source

VARIABLE: Final = "SLEUTH_IMAP_PASSWORD"
_PORTS: Final = {"imap": 143, "imaps": 993}
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_SECONDS: Final = 30.0
"""Of waiting for an answer: a server that opens a large folder for the first time takes some."""
_TOGETHER: Final = 500
"""Messages whose facts one command asks for: its line has 5 kB, and servers take 8."""
_SPAN: Final = 100_000
"""UIDs that one command searches: `imaplib` reads lines of 1 MB, and a UID takes up to ten bytes and a blank."""
_UID: Final = re.compile(rb"UID (\d+)")
_SIZE: Final = re.compile(rb"RFC822\.SIZE (\d+)")
_DATE: Final = re.compile(rb'INTERNALDATE "([^"]{1,40})"')


class ImapSource(Source):
    """The messages of a folder, each named by its UID. A message never changes, but all get new UIDs with UIDVALIDITY.

    `principals` are those who may read the folder, where the server tells (RFC 4314), else the user alone.
    """

    def __init__(self, address: str) -> None:
        """Take an address; `imap://` stands for STARTTLS, or for no encryption on this machine itself.

        Raises:
            ArgumentError: it cannot be read, or holds a password.
        """
        try:
            parts = urlsplit(address)
            host, port, self.user = parts.hostname, parts.port, unquote(parts.username or "")
        except ValueError:
            host = None
        if host is None or not (self.user and self.user.isprintable()) or parts.query or parts.fragment:
            raise ArgumentError(f"paths must be as imaps://USER@HOST/FOLDER, got {address!r}")
        if parts.password is not None:
            raise ArgumentError(f"paths must hold no password of {host}; the environment does: {VARIABLE}")
        self.scheme, self.host, self.port = parts.scheme, host, port or _PORTS[parts.scheme]
        self.folder = unquote(parts.path.strip("/")) or "INBOX"
        place = parts.netloc.rpartition("@")[2].lower()
        self.name = f"{self.scheme}://{quote(self.user, '')}@{place}/{quote(self.folder)}"
        self._server: Any = None

    def list(self, known: Callable[[str], FileEntry | None]) -> Iterator[FileEntry]:
        """Yield all messages, the first to arrive first."""
        self._open()
        self.cursor = self._state
        yield from self._entries(self._search(1))

    def since(self, cursor: str) -> Iterator[FileEntry] | None:
        """Return the messages that came since; None where another one is gone, or the folder or its readers changed."""
        first, exists, version = cursor.split(" ", 2)
        self._open()
        uids = self._search(int(first))
        if version != self._version or int(exists) + len(uids) != self._exists:
            return None
        self.cursor = self._state
        return self._entries(uids)

    def read(self, entry: FileEntry, path: Path) -> None:
        """Write a message as it was sent."""
        uid = entry.source.rpartition("/")[2].removesuffix(".eml")
        for part in self._ask(lambda server: server.uid("FETCH", uid, "(BODY.PEEK[])")):
            if isinstance(part, tuple):  # else what stands around it
                path.write_bytes(part[-1])
                return
        raise FileNotFoundError(entry.source)

    def count(self) -> int:
        """Return how many messages the folder has."""
        self._open()
        return self._exists

    def close(self) -> None:
        """Log out."""
        server, self._server = self._server, None
        if server is not None:
            with suppress(imaplib.IMAP4.error, OSError):  # the server may have gone first
                server.logout()
            with suppress(OSError):
                server.shutdown()

    def _open(self) -> None:
        """Log in, unless that is done, and look at the folder as it is now."""
        if self._server is None:
            self._ask(self._login)
        (exists,) = self._ask(lambda server: server.select(_quoted(self.folder), readonly=True))
        (_, [validity]), (_, [following]) = map(self._server.response, ("UIDVALIDITY", "UIDNEXT"))
        if validity is None or following is None:
            raise self._error("it does not tell UIDVALIDITY and UIDNEXT, by which messages are known")
        self._exists, self._next = int(exists), int(following)
        words: Sequence[str] = ()
        if b"ACL" in self._ask(lambda server: server.capability())[0].split():
            answer = self._ask(lambda server: server.getacl(_quoted(self.folder)), "OK", "NO")[0]
            words = shlex.split((answer or b"").decode())[1:]  # after the folder
        who = {name for name, rights in zip(words[::2], words[1::2], strict=False) if "r" in rights}
        may_read = {name for name in who if name[0] != "-" and f"-{name}" not in who}
        self._principals = sorted({self.user} | may_read)
        self._version = " ".join([validity.decode(), *map(quote, self._principals)])
        self._state = f"{self._next} {self._exists} {self._version}"

    def _login(self, _: Any) -> Any:
        password = os.environ.get(VARIABLE)
        if password is None:
            raise ArgumentError(f"{VARIABLE} must be set to the password of {self.user!r} at {self.host}")
        options: Any = {"host": self.host, "port": self.port, "timeout": _SECONDS}
        context = ssl.create_default_context()
        if self.scheme == "imaps":
            self._server = imaplib.IMAP4_SSL(ssl_context=context, **options)
        else:
            self._server = imaplib.IMAP4(**options)
            if "STARTTLS" in self._server.capabilities:
                self._server.starttls(context)
            elif self.host not in _LOOPBACK:
                raise self._error("it offers no STARTTLS, and a password is not sent without; try imaps://")
        if "AUTH=PLAIN" in self._server.capabilities:
            return self._server.authenticate("PLAIN", lambda _: f"\0{self.user}\0{password}".encode())
        return self._server.login(_quoted(self.user), password)

    def _search(self, first: int) -> Sequence[int]:
        """Return the UIDs of all messages from a UID on, ascending."""
        uids: set[int] = set()
        for start in range(first, self._next, _SPAN):
            span = f"{start}:{min(start + _SPAN, self._next) - 1}"
            answers = self._ask(lambda server: server.uid("SEARCH", "UID", span))  # noqa: B023
            uids.update(int(uid) for answer in answers for uid in (answer or b"").split())
        return sorted(uid for uid in uids if first <= uid < self._next)

    def _entries(self, uids: Sequence[int]) -> Iterator[FileEntry]:
        metadata = {"principals": list(self._principals)}
        for at in range(0, len(uids), _TOGETHER):
            batch = ",".join(map(str, uids[at : at + _TOGETHER]))
            for line in self._ask(lambda server: server.uid("FETCH", batch, "(RFC822.SIZE INTERNALDATE)")):  # noqa: B023
                uid, size, date = (fact.search(line or b"") for fact in (_UID, _SIZE, _DATE))
                if uid and size:  # else about flags that another program changed
                    moment = parsedate_tz(date.group(1).decode().replace("-", " ")) if date else None
                    modified_ns = mktime_tz(moment) * 1_000_000_000 if moment else None
                    name = f"{self.name}/{uid.group(1).decode()}.eml"
                    yield FileEntry("", name, int(size.group(1)), modified_ns, self._version, "", metadata)

    def _ask(self, command: Callable[[Any], Any], *accepted: str) -> Any:
        """Return the data of an answer."""
        try:
            status, data = command(self._server)
        except (imaplib.IMAP4.error, OSError) as error:
            raise self._error(str(error)) from error
        if status not in (accepted or ("OK",)):
            raise self._error(b" ".join(filter(None, data)).decode(errors="replace"))
        return data

    def _error(self, reason: str) -> RemoteError:
        return RemoteError(f"{self.name} cannot be read: {reason}", service="imap", url=self.name)


def _quoted(text: str) -> str:
    """Return a name as IMAP writes it: quoted, and in its own form of UTF-7 (RFC 3501, 5.1.3)."""
    coded = text.replace("&", "&-")
    for run in re.findall(r"[^ -~]+", coded):
        code = b64encode(run.encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
        coded = coded.replace(run, f"&{code}-", 1)
    return '"' + coded.replace("\\", "\\\\").replace('"', '\\"') + '"'
