"""Access tokens for `/mcp`: the half of a resource server in the authorization of the Model Context Protocol.

An issuer that the operator names signs tokens (RFC 9068); clients learn of it by the protected-resource metadata
(RFC 9728). Nothing here issues tokens, and no token is stored.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit

from sleuth.errors import requires
from sleuth.remote import BrokenError, CertificateError, Deadline, LargeError
from sleuth.surfaces.http.answers import Refusal, logger
from sleuth.surfaces.http.keys import DEFAULT_SCOPES, EVERYONE, Key
from sleuth.surfaces.http.settings import is_loopback

AGENTS_PATH: Final = "/mcp"
"""Where access tokens are accepted, and not only keys."""

METADATA: Final = "/.well-known/oauth-protected-resource"
"""Where clients look for the metadata; with `AGENTS_PATH` behind it, too."""

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a private key. Those by a shared secret, and none at all, are refused."""

_FRESH: Final = 600.0
"""Seconds for which the issuer's keys are kept."""
_REST: Final = 30.0
"""Seconds between two looks at the issuer, whatever clients send."""
_LEEWAY: Final = 30.0
"""Seconds that clocks may differ."""
_SECONDS: Final = 5.0
_MOST_BYTES: Final = 1 << 20
_FAILURES: Final = (BrokenError, CertificateError, LargeError, OSError, ValueError, KeyError, TypeError)


class AccessTokens:
    """Checks the tokens of one issuer for one resource. Safe to share between threads.

    Attributes:
        issuer: the address of who signs tokens.
        resource: the address of `/mcp` as clients write it; every token must name it as its audience.
    """

    def __init__(self, issuer: str, public_url: str) -> None:
        """Ask nobody yet.

        Raises:
            MissingPackageError: PyJWT is not installed.
        """
        with requires("PyJWT", "mcp", "a server that accepts tokens"):
            import jwt
        self._jwt = jwt
        self.issuer = issuer
        self.resource = f"{public_url}{AGENTS_PATH}"
        self._challenge = f'resource_metadata="{public_url}{METADATA}{AGENTS_PATH}"'
        self._guard = Lock()
        self._keys: dict[str, Any] = {}
        self._read = self._looked = float("-inf")

    @property
    def metadata(self) -> dict[str, Any]:
        """The protected-resource metadata, as RFC 9728 names its fields."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": list(DEFAULT_SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Sleuth",
        }

    def challenge(self, error: str = "") -> str:
        """Return the header that tells a client where to get a token."""
        scope = 'scope="read", ' if error == "insufficient_scope" else ""
        problem = f'error="{error}", ' if error else ""
        return f"Bearer {problem}{scope}{self._challenge}"

    def key_of(self, token: str) -> Key:
        """Return what a token allows; it takes a request to the issuer where its keys are not known.

        Raises:
            Refusal: not a token of this issuer for this resource, an expired one, or one without a scope of this
                server; or the issuer does not answer.
        """
        try:
            header = self._jwt.get_unverified_header(token)
            key = self._key(str(header.get("kid", "")))
            if header.get("alg") not in ALGORITHMS or key is None:
                raise self._jwt.InvalidTokenError("a signature that the issuer's keys do not check")
            claims = self._jwt.decode(
                token,
                key.key,
                algorithms=[header["alg"]],
                audience=self.resource,
                issuer=self.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (self._jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
            raise self._refusal(
                401, "TokenInvalidError", f"the token is not valid here: {error}", "invalid_token"
            ) from None
        value = claims.get("scope", claims.get("scp", ""))  # issuers write them as either
        names = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
        scopes = tuple(scope for scope in DEFAULT_SCOPES if scope in names)
        if not scopes:
            detail = f"the token must have one of the scopes {', '.join(DEFAULT_SCOPES)}"
            raise self._refusal(403, "ScopeMissingError", detail, "insufficient_scope")
        return EVERYONE.model_copy(update={"name": str(claims["sub"])[:64], "scopes": scopes})

    def _refusal(self, status: int, code: str, detail: str, error: str) -> Refusal:
        return Refusal(status, code, detail, {"www-authenticate": self.challenge(error)})

    def _key(self, id: str) -> Any:
        """Return the issuer's key of that id, or its only key for a token without an id; None for an unknown id.

        Raises:
            Refusal: the keys of the issuer could not be fetched yet.
        """
        with self._guard:
            now = time.monotonic()
            is_stale = now - self._read > _FRESH or (id and id not in self._keys)
            if is_stale and now - self._looked > _REST:
                self._looked = now
                if (keys := self._fetched_keys()) is not None:
                    self._keys, self._read = keys, now
            if not self._keys:
                detail = "the issuer of tokens does not answer as one: try again"
                raise Refusal(503, "IssuerError", detail, {"retry-after": str(int(_REST))})
            if not id:
                return next(iter(self._keys.values())) if len(self._keys) == 1 else None
            return self._keys.get(id)

    def _fetched_keys(self) -> dict[str, Any] | None:
        """Ask the issuer for its keys, by id; None if it does not answer, or not as an issuer does."""
        parts = urlsplit(self.issuer)
        addresses = (  # by RFC 8414 and by OpenID Connect
            f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{parts.path.rstrip('/')}",
            f"{self.issuer.rstrip('/')}/.well-known/openid-configuration",
        )
        for address in addresses:
            try:
                metadata = _json_at(address)
                if metadata.get("issuer") == self.issuer:
                    keys = self._jwt.PyJWKSet.from_dict(dict(_json_at(str(metadata["jwks_uri"])))).keys
                    return {str(key.key_id or ""): key for key in keys if key.public_key_use in (None, "sig")}
            except (*_FAILURES, self._jwt.PyJWTError) as error:
                logger.warning("the issuer of tokens: %s: %s", address, error)
        return None


def _json_at(url: str) -> Mapping[str, Any]:
    """Return the JSON object at an address; a redirect is no answer.

    Raises:
        ValueError: not https (http on this machine alone), another status, or not a JSON object.
    """
    from sleuth.remote import exchange_with_host  # loads httpx, which a server without tokens does not need

    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise ValueError(f"{url} must be an https address")
    headers = {"Accept": "application/json"}
    with exchange_with_host("GET", url, deadline=Deadline(_SECONDS), headers=headers) as exchange:
        answer = exchange.read(_MOST_BYTES)
    value = json.loads(answer.body) if answer.status == 200 else None
    if not isinstance(value, dict):
        raise ValueError(f"{url} answered {answer.status} without a JSON object")  # noqa: TRY004 - a wrong answer
    return value
