"""Tokens of an issuer that the operator names open `/mcp`, and nothing else."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from sleuth.errors import ArgumentError
from sleuth.surfaces.http import ServerSettings
from sleuth.surfaces.mcp.http import mcp_extension
from sleuth.testing.serving import LocalServer, Reply, Request

from .conftest import Local, keyed

PUBLIC = "https://search.example.org"
RESOURCE = f"{PUBLIC}/mcp"
METADATA = "/.well-known/oauth-protected-resource"
OPEN = {"public_url": PUBLIC, "keys": Path("k")}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


class Issuer(LocalServer):
    """An authorization server, as far as a resource server asks it.

    Attributes:
        keys: private keys by id.
        claimed: the issuer that its metadata names, where that is another one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[str, Any] = {"one": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
        self.claimed = ""

    @property
    def realm(self) -> str:
        return f"{self.url}/realm"

    def answer(self, request: Request) -> Reply:
        if request.path == "/.well-known/oauth-authorization-server/realm":
            facts: Any = {"issuer": self.claimed or self.realm, "jwks_uri": f"{self.realm}/keys"}
        elif request.path == "/realm/keys":
            facts = {"keys": [self.published(id) for id in self.keys]}
        else:
            return Reply(404)
        return Reply(200, json.dumps(facts).encode())

    def published(self, id: str) -> dict[str, Any]:
        is_rsa = isinstance(self.keys[id], rsa.RSAPrivateKey)
        kind = jwt.algorithms.RSAAlgorithm if is_rsa else jwt.algorithms.ECAlgorithm
        return {**kind.to_jwk(self.keys[id].public_key(), as_dict=True), "kid": id, "use": "sig"}

    def token(self, key: str = "one", algorithm: str = "RS256", secret: Any = None, **claims: Any) -> str:
        """Return a signed token; a claim of None is left out."""
        values = {"iss": self.realm, "aud": RESOURCE, "sub": "ada", "exp": time.time() + 600, "scope": "read"}
        values |= claims
        values = {name: value for name, value in values.items() if value is not None}
        return jwt.encode(values, secret or self.keys[key], algorithm, {"kid": key})


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as started:
        yield started


@pytest.fixture
def server(issuer: Issuer, tmp_path: Path) -> Iterator[Local]:
    """Return a server with one key whose tokens come from the issuer."""
    settings: Any = {"token_issuer": issuer.realm, "public_url": PUBLIC}
    with keyed(tmp_path, {"grace": {}}, extensions=[mcp_extension()], **settings) as started:
        yield started


def call(server: Local, token: str, path: str = "/mcp") -> Any:
    return server.ask(token, "POST", path, CALL if path == "/mcp" else {"query": "tokens"})


def test_clients_learn_where_tokens_come_from(server: Local, issuer: Issuer) -> None:
    """A request without a token is answered with the address of the metadata, which names resource and issuer."""
    refused = call(server, "")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{PUBLIC}{METADATA}/mcp"'
    for path in (METADATA, f"{METADATA}/mcp"):
        assert server.client.get(path).json() == {
            "resource": RESOURCE,
            "authorization_servers": [issuer.realm],
            "scopes_supported": ["read", "write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Sleuth",
        }


def test_a_token_opens_mcp_and_nothing_else(server: Local, issuer: Issuer) -> None:
    """A valid token lists the tools; other paths refuse it, and keys go on to work at all paths."""
    assert call(server, issuer.token()).status_code == 200
    assert call(server, issuer.token(aud=["other", RESOURCE], scope=None, scp=["read"])).status_code == 200
    assert call(server, issuer.token(), "/v1/search").status_code == 401
    assert call(server, "grace").status_code == 200
    assert call(server, "grace", "/v1/search").status_code == 200


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"aud": f"{PUBLIC}/other"}, 401), ({"aud": None}, 401), ({"iss": "https://evil.example.org"}, 401),
        ({"exp": time.time() - 600}, 401), ({"exp": None}, 401), ({"nbf": time.time() + 6000}, 401),
        ({"sub": None}, 401), ({"scope": "profile"}, 403), ({"scope": None}, 403),
        ({"scope": ["read"], "algorithm": "RS512"}, 200),
    ],
)  # fmt: skip
def test_tokens_that_do_not_fit_are_refused(server: Local, issuer: Issuer, claims: Any, status: int) -> None:
    """Another audience, issuer or time, and missing claims and scopes, are refused with where to get a token."""
    answer = call(server, issuer.token(**claims))
    assert answer.status_code == status
    if status != 200:
        challenge = answer.headers["www-authenticate"]
        assert f'resource_metadata="{PUBLIC}{METADATA}/mcp"' in challenge
        assert f'error="{"invalid_token" if status == 401 else "insufficient_scope"}"' in challenge


def test_signatures_that_prove_nothing_are_refused(server: Local, issuer: Issuer) -> None:
    """No signature, a shared secret, somebody else's key, an unknown key id and noise are refused."""
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = jwt.encode({"sub": "ada"}, "", "none")
    shared = issuer.token(algorithm="HS256", secret="x" * 64)
    forged = issuer.token(secret=stranger)
    header, body, _ = issuer.token().split(".")
    for token in (plain, shared, forged, f"{header}.{body}.", "a.b.c", "no token", "\u00e9"):
        answer = server.client.post(
            "/mcp", json=CALL, headers={b"authorization": b"Bearer " + token.encode()}
        )
        assert answer.status_code == 401, token


def test_new_keys_are_fetched_and_unknown_ids_do_not_flood_the_issuer(
    server: Local, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that the issuer adds counts; tokens with unknown key ids make one request in a while."""
    assert call(server, issuer.token()).status_code == 200
    request_count = len(issuer.requests)
    issuer.keys["two"] = ec.generate_private_key(ec.SECP256R1())
    for _ in range(5):
        assert call(server, issuer.token("two", "ES256")).status_code == 401
    assert len(issuer.requests) == request_count
    monkeypatch.setattr("sleuth.surfaces.http.tokens._REST", 0.0)
    assert call(server, issuer.token("two", "ES256")).status_code == 200
    assert len(issuer.requests) == request_count + 2


def test_metadata_of_another_issuer_is_not_believed(server: Local, issuer: Issuer) -> None:
    """Where the metadata names another issuer, or nobody answers, the server says that it cannot check."""
    issuer.claimed = "https://other.example.org"
    answer = call(server, issuer.token())
    assert answer.status_code == 503
    assert answer.json()["code"] == "IssuerError"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"token_issuer": "https://a.example.org"}, "keys must be given"),
        ({"token_issuer": "https://a.example.org", "keys": Path("k")}, "public_url must be given"),
        ({"token_issuer": "http://a.example.org", **OPEN}, "token_issuer must be"),
        ({"token_issuer": "https://u:p@a.example.org", **OPEN}, "token_issuer must be"),
        ({"token_issuer": "https://a.example.org", **OPEN, "public_url": "search"}, "public_url must be"),
    ],
)
def test_settings_that_would_leave_a_door_open_are_refused(settings: Any, message: str) -> None:
    """Tokens need keys beside them, a public address, and an issuer by https."""
    with pytest.raises(ArgumentError, match=message):
        ServerSettings(**settings)
