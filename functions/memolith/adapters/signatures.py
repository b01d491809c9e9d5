"""Signatures under checkpoints, as JOSE writes them: Ed25519, and ECDSA on P-256 with SHA-256. Source: RFC 7518, 8037.

The same for every adapter of `ports.sealing`, so that what one region's key signed any other can check. PyJWT and
cryptography are imported with the first signature, and not with a start.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

from memolith.ports.sealing import PublicJwk

_REQUIRED = {"OKP": ("crv", "kty", "x"), "EC": ("crv", "kty", "x", "y")}
"""What a key's id is made from. Source: RFC 7638, RFC 8037."""
_CURVES = {"OKP": "Ed25519", "EC": "P-256"}


def public_half(jwk: PublicJwk) -> dict[str, str]:
    """Return the members of a key that everybody may have."""
    return {name: jwk[name] for name in _REQUIRED[jwk["kty"]]}


def key_id(jwk: PublicJwk) -> str:
    """Return the id of a key: the SHA-256 of its public half, in base64url (RFC 7638)."""
    text = json.dumps(public_half(jwk), sort_keys=True, separators=(",", ":"))
    return in_base64url(hashlib.sha256(text.encode()).digest())


def signed(private: PublicJwk, statement: bytes) -> str:
    """Sign with an Ed25519 key that has its private half."""
    from jwt.algorithms import OKPAlgorithm

    algorithm = OKPAlgorithm()
    key: Any = OKPAlgorithm.from_jwk(dict(private))
    return in_base64url(algorithm.sign(statement, key))


def is_signature(public: PublicJwk, statement: bytes, signature: str) -> bool:
    """Tell whether the key made this signature under this statement; a key of another kind made none."""
    from cryptography.exceptions import InvalidSignature
    from jwt.algorithms import ECAlgorithm, OKPAlgorithm
    from jwt.exceptions import InvalidKeyError

    if public.get("crv") != _CURVES.get(public.get("kty", "")):
        return False
    try:
        told = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        if public["kty"] == "OKP":
            okp: Any = OKPAlgorithm.from_jwk(dict(public))
            return OKPAlgorithm().verify(statement, okp, told)
        ec: Any = ECAlgorithm.from_jwk(dict(public))
        return ECAlgorithm(ECAlgorithm.SHA256).verify(statement, ec, told)
    except (InvalidSignature, InvalidKeyError, binascii.Error, ValueError):
        return False


def in_base64url(raw: bytes) -> str:
    """Write bytes as JOSE does, without padding."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
