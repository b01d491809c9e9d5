"""Ed25519 keys as JSON Web Key Sets: made, written and read. Source: RFC 7517, RFC 8037."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from memolith.ports.errors import Unavailable
from memolith.ports.signing import Jwk

_PART = re.compile(r"[A-Za-z0-9_-]{43}")
"""32 bytes in base64url, without padding."""


def made(seed: bytes | None = None) -> Jwk:
    """Make the private half of a new key: a random one, or the one of 32 bytes that are as secret as it is."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from jwt.algorithms import OKPAlgorithm

    key = Ed25519PrivateKey.generate() if seed is None else Ed25519PrivateKey.from_private_bytes(seed)
    return {name: str(value) for name, value in OKPAlgorithm.to_jwk(key, as_dict=True).items()}


def public_of(private: Mapping[str, Jwk]) -> Mapping[str, Jwk]:
    """Return the public halves of private ones."""
    return {name: {part: value for part, value in key.items() if part != "d"} for name, key in private.items()}


def written(keys: Mapping[str, Jwk]) -> str:
    """Write a set, each key with its name as ``kid``."""
    marked = [{**key, "kid": name, "use": "sig", "alg": "EdDSA"} for name, key in sorted(keys.items())]
    return json.dumps({"keys": marked})


def read_private(text: str) -> Mapping[str, Jwk]:
    """Read a set of private halves. Raises Unavailable for anything else; it never quotes the text."""
    keys = _read(text, ("kty", "crv", "x", "d"))
    if not keys:
        raise Unavailable("the secret of the signing keys must be a JWK set of private Ed25519 keys")
    return keys


def read_public(text: str) -> Mapping[str, Jwk]:
    """Read a set of public halves. Raises Unavailable for anything else, a set with a private half among it."""
    keys = _read(text, ("kty", "crv", "x"))
    if not keys:
        raise Unavailable("the secret of the public keys must be a JWK set of public Ed25519 keys, and of nothing else")
    return keys


def next_name(names: Iterable[str]) -> str:
    """Return a name that no key had: one more than the highest number in `names`; ``k1`` for the first."""
    numbers = [int(number) for name in names for number in re.findall(r"[0-9]+", name)]
    return f"k{max(numbers, default=0) + 1}"


def _read(text: str, parts: tuple[str, ...]) -> dict[str, Jwk]:
    """Return the keys of a set that holds exactly these parts of Ed25519 keys; an empty mapping for any other text."""
    found: dict[str, Jwk] = {}
    try:
        for key in json.loads(text)["keys"]:
            jwk = {part: str(key[part]) for part in parts}
            secret = "d" in key and "d" not in parts
            shaped = (
                jwk["kty"] == "OKP" and jwk["crv"] == "Ed25519" and all(map(_PART.fullmatch, list(jwk.values())[2:]))
            )
            if secret or not shaped:
                return {}
            found[str(key["kid"])] = jwk
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found
