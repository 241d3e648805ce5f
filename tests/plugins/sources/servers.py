"""A small IMAP server in threads, and Dovecot where it is installed; both speak to the real `imaplib`."""

from __future__ import annotations

import os
import shutil
import socketserver
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.waiting import free_port, listens, wait_until


@dataclass
class Folder:
    """A folder of mail: messages by UID."""

    messages: dict[int, bytes] = field(default_factory=dict)
    validity: int = 1
    following: int = 1


class MailServer(socketserver.ThreadingTCPServer):
    """Speaks the part of IMAP4rev1 that a reader needs, to the user `anna` with the password `secret`.

    Attributes:
        folders: by name, as it is on the wire.
        readers: what GETACL says after the folder.
        commands: that clients sent, without passwords.
        breaks: ends the connection in place of so many of the next fetches of a message.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.port = self.server_address[1]
        self.folders = {"INBOX": Folder()}
        self.readers = "anna lrswipkxtea"
        self.commands: list[str] = []
        self.breaks = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def add(self, message: bytes, folder: str = "INBOX") -> None:
        """Deliver a message."""
        place = self.folders[folder]
        place.messages[place.following] = message
        place.following += 1

    def delete(self, uid: int) -> None:
        """Expunge a message."""
        del self.folders["INBOX"].messages[uid]


class _Session(socketserver.StreamRequestHandler):
    server: MailServer
    folder: Folder
    is_in = False

    def handle(self) -> None:
        self.say("* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN ACL] ready")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            tag, verb, *words = line.split(" ")
            if verb == "UID":
                verb, *words = words
            self.server.commands.append(f"{verb} {' '.join(words)}")
            if verb not in ("CAPABILITY", "AUTHENTICATE", "LOGOUT") and not self.is_in:
                self.say(f"{tag} BAD log in first")
            elif (answer := getattr(self, f"do_{verb.lower()}")(words)) is None:
                return
            else:
                self.say(f"{tag} {answer} done")

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def do_capability(self, words: list[str]) -> str:
        self.say("* CAPABILITY IMAP4rev1 AUTH=PLAIN ACL")
        return "OK"

    def do_authenticate(self, words: list[str]) -> str:
        self.say("+ ")
        _, user, password = b64decode(self.rfile.readline()).decode().split("\0")
        self.is_in = (user, password) == ("anna", "secret")
        return "OK" if self.is_in else "NO [AUTHENTICATIONFAILED] wrong password"

    def do_examine(self, words: list[str]) -> str:
        name = " ".join(words).strip('"')
        if name not in self.server.folders:
            return "NO [NONEXISTENT] no such folder"
        self.folder = self.server.folders[name]
        self.say(f"* {len(self.folder.messages)} EXISTS")
        self.say(f"* OK [UIDVALIDITY {self.folder.validity}] stays")
        self.say(f"* OK [UIDNEXT {self.folder.following}] is next")
        return "OK [READ-ONLY]"

    def do_getacl(self, words: list[str]) -> str:
        self.say(f"* ACL {' '.join(words)} {self.server.readers}")
        return "OK"

    def do_search(self, words: list[str]) -> str:
        first, last = map(int, words[1].split(":"))
        uids = [str(uid) for uid in self.folder.messages if first <= uid <= last]
        self.say(f"* SEARCH {' '.join(uids)}".rstrip())
        return "OK"

    def do_fetch(self, words: list[str]) -> str | None:
        is_body = "BODY.PEEK" in " ".join(words)
        if is_body and self.server.breaks:
            self.server.breaks -= 1
            return None
        for uid in map(int, words[0].split(",")):
            message = self.folder.messages.get(uid)
            if message is None:
                continue
            if is_body:
                self.say(f"* 1 FETCH (UID {uid} BODY[] {{{len(message)}}}")
                self.wfile.write(message)
                self.say(")")
            else:
                self.say("* 1 FETCH (FLAGS (\\Seen))")  # another program has read something
                date = f'INTERNALDATE "{uid % 28 + 1:2}-Nov-2026 10:00:00 +0100"'
                self.say(f"* 1 FETCH ({date} UID {uid} RFC822.SIZE {len(message)})")
        return "OK"

    def do_logout(self, words: list[str]) -> str:
        self.say("* BYE")
        return "OK"


@contextmanager
def folder_of(user: str) -> Iterator[Path]:
    """Make a folder that another user can reach, and one inside that is theirs."""
    with TemporaryDirectory(prefix="sleuth-test-") as name:
        Path(name).chmod(0o755)
        place = Path(name, "data")
        place.mkdir()
        if os.getuid() == 0:
            shutil.chown(place, user)
        yield place


@contextmanager
def dovecot() -> Iterator[int]:
    """Run Dovecot; yield the port where it speaks IMAP."""
    port = free_port()
    with folder_of("nobody") as mail:
        configuration = mail.parent / "dovecot.conf"
        text = Path(__file__).with_name("dovecot.conf").read_text("utf8").replace("FOLDER", str(mail.parent))
        configuration.write_text(text.replace("MAIL", str(mail)).replace("PORT", str(port)))
        with subprocess.Popen(["dovecot", "-F", "-c", configuration]) as process:
            try:
                wait_until(lambda: listens(port))
                yield port
            finally:
                process.terminate()


def is_dovecot_here() -> bool:
    """Return whether Dovecot can be run, which takes the rights of root to change to users of its own."""
    return shutil.which("dovecot") is not None and os.getuid() == 0
