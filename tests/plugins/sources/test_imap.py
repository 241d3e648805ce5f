"""Mail of IMAP servers: a small one of these tests, and Dovecot where it is installed."""

import imaplib
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sleuth import ArgumentError, Engine
from sleuth.errors import RemoteError
from sleuth.plugins.sources.imap import VARIABLE, ImapSource
from sleuth.testing.contracts import SourceContract
from tests.commands import sleuth
from tests.plugins.sources.servers import MailServer, dovecot, is_dovecot_here


def mail(name: str, text: str = "") -> bytes:
    """Return a message about something, which claims to be for all."""
    lines = ("From: Bob <bob@example.org>", f"Subject: The {name}", "Principals: all", "")
    return "\r\n".join((*lines, f"The {name} comes in twice a day. {text}", "")).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    """A server with three messages, whose password is in the environment."""
    monkeypatch.setenv(VARIABLE, "secret")
    with MailServer() as running:
        for name in ("tide", "ebb", "flood"):
            running.add(mail(name))
        yield running
        running.shutdown()


class TestMail(SourceContract):
    """The contract holds for the small server; no message ever changes, and another one has another UID."""

    renames = True

    @pytest.fixture(autouse=True)
    def _server(self, server: MailServer) -> None:
        self.server = server

    def make(self) -> ImapSource:
        return ImapSource(f"imap://anna@127.0.0.1:{self.server.port}")

    def change(self) -> None:
        self.server.delete(1)
        self.server.delete(2)
        self.server.add(mail("neap"))
        self.server.add(mail("wave"))


def test_only_new_messages_are_listed(server: MailServer, engine: Engine) -> None:
    """A second run asks for what came since; a message that is gone, other readers or a new folder make it list all."""
    address = f"imap://anna@127.0.0.1:{server.port}/INBOX"

    def run() -> tuple[int, int, int, bool]:
        server.commands.clear()
        report = engine.index([address], prune=True)
        return report.added, report.updated, report.pruned, any(" 1:" in each for each in server.commands)

    assert run() == (3, 0, 0, True)
    assert run() == (0, 0, 0, False)
    server.add(mail("wave"))
    assert run() == (1, 0, 0, False)
    server.delete(1)
    assert run() == (0, 0, 1, True)
    engine.delete([f"{address}/2.eml"])
    assert run() == (1, 0, 0, True)
    server.readers = "anna lr -carl r carl lr bob lr eve l"
    assert run() == (0, 3, 0, True)
    assert engine.get(f"{address}/2.eml")[0].metadata["principals"] == ["anna", "bob"]
    server.folders["INBOX"].validity = 2
    assert run() == (0, 0, 0, True)
    assert not any("STORE" in each or "SELECT" in each for each in server.commands)


def test_a_connection_that_ends_loses_nothing(server: MailServer, engine: Engine) -> None:
    """What was read before is committed, the error names the server, and nothing counts as gone."""
    address = f"imap://anna@127.0.0.1:{server.port}/INBOX"
    server.breaks = 1
    with pytest.raises(RemoteError, match=re.escape(f"{address} cannot be read")):
        engine.index([address], prune=True)
    assert engine.index([address], prune=True).added == 3
    server.add(mail("wave"))
    server.breaks = 1
    with pytest.raises(RemoteError):
        engine.index([address], prune=True)
    assert len(engine.documents()) == 3
    assert engine.index([address], prune=True).added == 1


def test_folders_are_named_in_the_address(server: MailServer, engine: Engine, tmp_path: Path) -> None:
    """A name with blanks, quotes and letters of any script is a folder; the command says what is wrong with one."""
    server.folders = {'Post\\\\Fl&APw-sse \\"x\\" &-': server.folders["INBOX"]}
    address = f"imap://anna@127.0.0.1:{server.port}/Post%5CFl%C3%BCsse%20%22x%22%20%26"
    assert engine.index([address]).added == 3
    (item,) = engine.retrieve("when is flood", 1)
    assert (item.metadata["title"], item.metadata["principals"]) == ("The flood", ["anna"])
    for wrong, words in ((f"{address}/x%0D%0Ay", "NONEXISTENT"), (f"{address}?x", "USER@HOST/FOLDER")):
        done = sleuth("index", wrong, cwd=tmp_path)
        assert (done.returncode != 0, words in done.stderr) == (True, True), done.stderr


def count(address: str) -> int:
    """Return how many messages a server says it has."""
    with closing(ImapSource(address)) as source:
        return source.count()


def test_passwords_are_kept(server: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """One in an address is refused unseen, a wrong or missing one is an error, and none is sent in the clear."""
    address = f"imap://anna@127.0.0.1:{server.port}"
    with pytest.raises(ArgumentError, match=VARIABLE) as failure:
        ImapSource("imaps://anna:hunter2@mail.example.org/")
    assert "hunter2" not in str(failure.value)
    monkeypatch.setattr("sleuth.plugins.sources.imap._LOOPBACK", frozenset())
    with pytest.raises(RemoteError, match="STARTTLS"):
        count(address)
    monkeypatch.undo()
    monkeypatch.setenv(VARIABLE, "wrong")
    with pytest.raises(RemoteError, match="AUTHENTICATIONFAILED") as refusal:
        count(address)
    assert "wrong " not in str(refusal.value).replace("wrong password", "")
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ArgumentError, match=f"{VARIABLE} must be set to the password of 'anna'"):
        count(address)
    for bad in ("imaps://mail.example.org/", "imaps://anna@/", "imaps://a%0Ab@h/", "imaps://anna@h:x/"):
        with pytest.raises(ArgumentError, match="imaps://USER@HOST/FOLDER"):
            ImapSource(bad)


@pytest.fixture(scope="module")
def dovecot_port() -> Iterator[int]:
    if not is_dovecot_here():
        pytest.skip("dovecot is not installed (apt install dovecot-imapd), or these tests may not start it")
    with dovecot() as port:
        yield port


class TestDovecot(SourceContract):
    """The contract holds for Dovecot."""

    renames = True

    @pytest.fixture(autouse=True)
    def _folder(self, dovecot_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv(VARIABLE, "secret")
        self.address = f"imap://anna@127.0.0.1:{dovecot_port}/Fl%C3%BCsse"
        self.client = imaplib.IMAP4("127.0.0.1", dovecot_port)
        self.client.login("anna", "secret")
        self.client.create("Fl&APw-sse")
        self.add("tide", "ebb", "flood")
        self.client.setacl("Fl&APw-sse", "bob", "lr")
        yield
        self.client.delete("Fl&APw-sse")
        self.client.logout()

    def add(self, *names: str) -> None:
        for name in names:
            self.client.append("Fl&APw-sse", "", "", mail(name))

    def make(self) -> ImapSource:
        return ImapSource(self.address)

    def change(self) -> None:
        self.client.select("Fl&APw-sse")
        first, second = self.client.uid("SEARCH", "ALL")[1][0].split()[:2]
        self.client.uid("STORE", f"{first.decode()},{second.decode()}", "+FLAGS", r"(\Deleted)")
        self.client.expunge()
        self.add("neap", "wave")
