"""Sessions: signed values that stand for a key in the cookie of a browser."""

import base64
from hashlib import sha256
from pathlib import Path

import pytest

from sleuth.surfaces.http import add_key
from sleuth.surfaces.http.keys import SECONDS, KeyFile, Sessions, remove_key, write_secret


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_a_session_stands_for_a_key_and_does_not_hold_it(file: Path) -> None:
    """A value of `begin` finds its key; no part of the key or of its hash is in it."""
    token = add_key(file, "müller@x.y-1", filter="tenant:acme")
    sessions = Sessions(KeyFile(file))
    value = sessions.begin(token)
    assert value is not None
    key = sessions.find(value)
    assert key is not None
    assert (key.name, str(key.filter)) == ("müller@x.y-1", str(KeyFile(file).find(token).filter))  # type: ignore[union-attr]
    assert token not in value
    assert sha256(token.encode()).hexdigest() not in value
    assert value.isascii()
    assert sessions.begin("sleuth_wrong") is None


def test_what_was_not_signed_here_is_no_session(file: Path) -> None:
    """Other names, ends and codes, the key itself, its hash and values of another server are refused."""
    token = add_key(file, "reader")
    add_key(file, "admin")
    keys = KeyFile(file)
    sessions = Sessions(keys)
    value = sessions.begin(token)
    assert value is not None
    name, end, code = value.split(".")
    admin = base64.urlsafe_b64encode(b"admin").decode()
    digest = sha256(token.encode()).digest()
    for forged in (
        *("", ".", "..", "a.b.c", "é.1.x", "ä", token, digest.hex()),
        f"{admin}.{end}.{code}",
        f"{name}.{int(end) + 1}.{code}",
        f"{name}.{end}.{code[:-1]}",
        f"{name}.{end}.",
        f"{name}.{end}",
        f"{name}.{end}.{digest.hex()}",
        f"{name}.{'9' * 5000}.{code}",
        Sessions(keys).begin(token) or "",
    ):
        assert sessions.find(forged) is None


def test_a_session_ends_with_its_time_and_its_key(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is over after some hours, when its key is removed, and for a new key of the same name."""
    token = add_key(file, "reader")
    sessions = Sessions(KeyFile(file))
    value = sessions.begin(token)
    assert value is not None
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: int(value.split(".")[1]) - 1)
        assert sessions.find(value) is not None
        patch.setattr("time.time", lambda: int(value.split(".")[1]))
        assert sessions.find(value) is None
        assert SECONDS <= 24 * 3600
    remove_key(file, "reader")
    assert Sessions(KeyFile(file), b"s").begin(token) is None
    add_key(file, "reader")
    same = Sessions(KeyFile(file), sessions._secret)
    assert same.find(value) is None


def test_workers_of_one_server_know_each_others_sessions(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one worker signs with lies in a file that only their owner can read."""
    token = add_key(file, "reader")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    write_secret(tmp_path)
    value = Sessions(KeyFile(file)).begin(token)
    assert value is not None
    assert Sessions(KeyFile(file)).find(value) is not None
    (secret,) = (path for path in tmp_path.iterdir() if path != file)
    assert secret.stat().st_mode & 0o777 == 0o600
