"""Tokens of sessions: signed, so that any region can verify one without a call.

A token is a JSON Web Token under Ed25519 with a prefix that tells it from an API key: ``st-memolith-{jwt}``. It
names its session, its workspace, the API keys that it comes from, and what may be done with which store until when.
That its session or such a key has ended is not in it: those are rows, read in the same batch as everything else
(`memolith.app.auth.authorizer`). Who verifies holds public keys, and cannot sign. PyJWT is imported with the first
token: it is a tenth of what a start imports, and calls with API keys need none of it.
Source: RFC 7519 (claims), RFC 8037 (Ed25519), RFC 8725 (fixed algorithm, issuer and lifetime checked).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memolith.app.kernel.results import SessionCredentials
from memolith.core import ids
from memolith.core.errors import Unauthenticated, Unavailable
from memolith.core.objects.session_record import SessionRecord
from memolith.core.rows.identity import ApiKeyRow
from memolith.ports import errors as port_errors
from memolith.ports.clock import Clock
from memolith.ports.signing import Jwk, SigningKeys

if TYPE_CHECKING:
    from jwt.types import Options

PREFIX = "st-memolith-"
ALGORITHM = "EdDSA"
ISSUER = "memolith"
LEEWAY_US = 5_000_000
"""How far two regions' clocks may be apart before a new token is taken for one of the future."""


_OPTIONS: Options = {"require": ["iss", "sub", "wsp", "iat", "exp", "acc"], "verify_exp": False, "verify_iat": False}
"""Times are checked here, by the region's own clock port."""


class SessionTokens:
    """Issues and verifies tokens with the deployment's keys."""

    def __init__(self, signing: SigningKeys, clock: Clock) -> None:
        self._signing = signing
        self._clock = clock

    def issue(self, record: SessionRecord, lifetime_s: int, keys_behind: Sequence[ApiKeyRow] = ()) -> tuple[str, int]:
        """Issue a token for a session; return also its end (microseconds since 1970). No call once the keys are known.

        Args:
            record: the session.
            lifetime_s: for how long.
            keys_behind: the API keys with which it ends, as far as they are known here: it names them, and the one that
                began the session in any case, and is not valid for longer than they are.

        Raises:
            Unavailable: there is no key to sign with, or it is not among those that are accepted.
        """
        import jwt

        name, key = self._signer()
        now_s = self._clock.now_us() // 1_000_000
        ends_s = [key.expires_at // 1_000_000 for key in keys_behind if key.expires_at is not None]
        began_by = [] if record.key_id is None else [record.key_id]
        until_s = min([now_s + lifetime_s, *ends_s])
        claims = {
            "iss": ISSUER,
            "sub": record.session_id,
            "wsp": record.workspace_id,
            "iat": now_s,
            "exp": until_s,
            "keys": list(dict.fromkeys([*began_by, *(key.key_id for key in keys_behind)])),
            "acc": {one.memory_store_id: one.access for one in record.attachments},
        }
        token = jwt.encode(
            claims, jwt.PyJWK.from_dict(dict(key), ALGORITHM), algorithm=ALGORITHM, headers={"kid": name}
        )
        return PREFIX + token, until_s * 1_000_000

    def verify(self, text: str) -> SessionCredentials:
        """Return what a token grants. No call once the keys are known; one more for a name that is not known.

        Raises:
            Unauthenticated: no token of this deployment, or one that has ended. Unavailable: the keys cannot be read.
        """
        import jwt

        try:
            name = jwt.get_unverified_header(text.removeprefix(PREFIX)).get("kid")
            claims = self._claims(text.removeprefix(PREFIX), str(name))
            return SessionCredentials(claims["wsp"], claims["sub"], _access(claims["acc"]), _key_ids(claims))
        except (jwt.InvalidTokenError, KeyError, TypeError, ValueError) as error:
            raise Unauthenticated("the token is not one of this deployment") from error

    def _signer(self) -> tuple[str, Jwk]:
        """Return the key that signs. One that is no longer accepted, as after a leak, signs nothing."""
        for fresh in (False, True):
            keys = self._keys(self._signing.private, fresh)
            name = max(keys, key=key_order)
            if name in self._keys(self._signing.public, fresh):
                return name, keys[name]
        raise Unavailable("the key that signs tokens is not among the accepted ones; try again")

    def _claims(self, token: str, name: str) -> Mapping[str, Any]:
        import jwt

        public = self._signing.public
        key = self._keys(public, fresh=False).get(name) or self._keys(public, fresh=True).get(name)
        if key is None:
            raise Unauthenticated("the token was signed with a key that is no longer accepted")
        known = jwt.PyJWK.from_dict(dict(key), ALGORITHM)
        claims: Mapping[str, Any] = jwt.decode(token, known, algorithms=[ALGORITHM], issuer=ISSUER, options=_OPTIONS)
        now_us = self._clock.now_us()
        if int(claims["exp"]) * 1_000_000 <= now_us:
            raise Unauthenticated("the token has ended; ask for another with an API key")
        if int(claims["iat"]) * 1_000_000 > now_us + LEEWAY_US:
            raise Unauthenticated("the token is not valid yet")
        return claims

    @staticmethod
    def _keys(read: Callable[[bool], Mapping[str, Jwk]], fresh: bool) -> Mapping[str, Jwk]:
        try:
            return read(fresh)
        except Unavailable as error:
            raise Unavailable("the deployment's signing keys cannot be read; try again") from error


def key_order(name: str) -> tuple[list[tuple[int, str]], str]:
    """Order names of keys by the numbers in them: ``k10`` follows ``k9``; what is between them, by its text."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if position % 2 else (0, part) for position, part in enumerate(parts)], name


def _access(claim: Mapping[str, str]) -> dict[str, str]:
    if not all(ids.STORE.fullmatch(store_id) and mode in MODES for store_id, mode in claim.items()):
        raise ValueError("not a mapping of stores to modes")
    return dict(claim)


def _key_ids(claims: Mapping[str, Any]) -> tuple[str, ...]:
    key_ids = tuple(claims.get("keys", ()))
    if not all(ids.KEY.fullmatch(key_id) for key_id in key_ids):
        raise ValueError("not a list of API keys")
    return key_ids


class NoSigningKeys:
    """For a place without sessions: nothing can be signed, and so no token is true."""

    def private(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Raise Unavailable."""
        raise port_errors.Unavailable("there are no signing keys here")

    def public(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Raise Unavailable."""
        raise port_errors.Unavailable("there are no signing keys here")


NO_SIGNING_KEYS = NoSigningKeys()
READ_WRITE, READ_ONLY = MODES = ("read_write", "read_only")
