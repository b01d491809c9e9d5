"""Tokens of sessions: which of the deployment's keys signs, and that whoever verifies cannot."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator, Mapping

import jwt
import pytest
from jwt.utils import base64url_encode

from memolith.adapters.jwk import made, public_of
from memolith.adapters.memory import ManualClock
from memolith.adapters.memory.signing import MemorySigningKeys
from memolith.app.auth.session_tokens import PREFIX, SessionTokens
from memolith.core.errors import Unauthenticated, Unavailable
from memolith.core.objects.session_record import SessionRecord
from memolith.ports.signing import Jwk

RECORD = SessionRecord("wrkspc_x", "sesn_x", None, {}, (), 1, "api_key:apikey_x")


def seed(name: str) -> bytes:
    return (name.encode() * 32)[:32]


def kid(token: str) -> str:
    return str(jwt.get_unverified_header(token.removeprefix(PREFIX))["kid"])


@pytest.mark.parametrize(
    ("names", "signer"),
    [
        (("k9", "k10"), "k10"),
        (("k10", "k9"), "k10"),
        (("k1", "k2"), "k2"),
        (("2026-9", "2026-10"), "2026-10"),
        (("2026-10", "2027-1"), "2027-1"),
        (("alpha", "beta"), "beta"),
        (("k01", "k1"), "k1"),
        (("only",), "only"),
    ],
)
def test_the_key_with_the_highest_number_signs(names: tuple[str, ...], signer: str) -> None:
    keys = MemorySigningKeys({name: seed(name) for name in names})
    tokens = SessionTokens(keys, ManualClock())
    token, _ = tokens.issue(RECORD, 600)
    assert kid(token) == signer
    assert tokens.verify(token).session_id == "sesn_x"


def test_a_token_is_signed_with_ed25519() -> None:
    token, _ = SessionTokens(MemorySigningKeys({"k1": seed("k1")}), ManualClock()).issue(RECORD, 600)
    assert jwt.get_unverified_header(token.removeprefix(PREFIX))["alg"] == "EdDSA"


class OfAReader:
    """What a reader may read: the public halves, and no others."""

    def __init__(self, keys: MemorySigningKeys) -> None:
        self._keys = keys

    def private(self, fresh: bool = False) -> Mapping[str, Jwk]:
        raise Unavailable("the secret may not be read")

    def public(self, fresh: bool = False) -> Mapping[str, Jwk]:
        return self._keys.public(fresh)


def under_hmac(header: dict[str, str], claims: dict[str, object], secret: bytes, digest: str) -> str:
    """A token under a shared secret; PyJWT itself refuses to make one of such secrets."""
    signed = b".".join(base64url_encode(json.dumps(part).encode()) for part in (header, claims))
    return (signed + b"." + base64url_encode(hmac.digest(secret, signed, digest))).decode()


def forgeries(public: Jwk, claims: dict[str, object]) -> Iterator[str]:
    """Tokens that a public key could be mistaken for the secret of: by its text, its bytes, and as a private key."""
    headers = {"kid": "k1"}
    raw = base64.urlsafe_b64decode(public["x"] + "=")
    for secret in (public["x"].encode(), raw, json.dumps(dict(public)).encode(), b""):
        for algorithm, digest in (("HS256", "sha256"), ("HS512", "sha512"), ("EdDSA", "sha512")):
            yield under_hmac({"typ": "JWT", "alg": algorithm, **headers}, claims, secret, digest)
    yield jwt.encode(claims, "", algorithm="none", headers=headers)
    as_private = jwt.PyJWK.from_dict(dict(made(raw)), "EdDSA")
    yield jwt.encode(claims, as_private, algorithm="EdDSA", headers=headers)
    own = jwt.PyJWK.from_dict(dict(MemorySigningKeys({"k1": b"x" * 32}).private()["k1"]), "EdDSA")
    yield jwt.encode(claims, own, algorithm="EdDSA", headers=headers)
    embedded = public_of(MemorySigningKeys({"k1": b"x" * 32}).private())["k1"]
    yield jwt.encode(claims, own, algorithm="EdDSA", headers={**headers, "jwk": dict(embedded)})


def test_no_token_can_be_made_with_what_a_reader_may_read() -> None:
    keys = MemorySigningKeys({"k1": seed("k1")})
    token, _ = SessionTokens(keys, ManualClock()).issue(RECORD, 600)
    reading = SessionTokens(OfAReader(keys), ManualClock())
    assert reading.verify(token).session_id == "sesn_x", "it verifies"
    with pytest.raises(Unavailable):
        reading.issue(RECORD, 600)
    claims = jwt.decode(token.removeprefix(PREFIX), options={"verify_signature": False})
    forged = list(forgeries(keys.public()["k1"], {**claims, "wsp": "wrkspc_other"}))
    assert len(forged) == 16
    for text in forged:
        with pytest.raises(Unauthenticated):
            reading.verify(PREFIX + text)


def test_a_token_whose_claims_were_changed_is_refused() -> None:
    tokens = SessionTokens(MemorySigningKeys({"k1": seed("k1")}), ManualClock())
    token, _ = tokens.issue(RECORD, 600)
    header, body, signature = token.removeprefix(PREFIX).split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    changed = base64url_encode(json.dumps({**claims, "wsp": "wrkspc_other"}).encode()).decode()
    with pytest.raises(Unauthenticated):
        tokens.verify(f"{PREFIX}{header}.{changed}.{signature}")


def test_a_key_that_is_no_longer_accepted_neither_verifies_nor_signs() -> None:
    keys = MemorySigningKeys({"k1": seed("k1"), "k2": seed("k2")})
    tokens = SessionTokens(keys, ManualClock())
    token, _ = tokens.issue(RECORD, 600)
    keys.accepted = frozenset({"k1"})
    with pytest.raises(Unauthenticated, match="no longer accepted"):
        tokens.verify(token)
    with pytest.raises(Unavailable, match="not among the accepted"):
        tokens.issue(RECORD, 600)
