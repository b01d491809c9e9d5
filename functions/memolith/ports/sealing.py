"""The keys that sign checkpoints, and what a machine remembers of them outside the data that they seal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from memolith.core.objects.checkpoint import Seal
from memolith.core.sealing import LastSealed, SealRecord

PublicJwk = Mapping[str, str]
"""A public JSON Web Key: Ed25519 (``OKP``), or ECDSA on P-256 (``EC``). Source: RFC 7517, RFC 8037."""


class Sealing(Protocol):
    """One private key a region, which never leaves where it is kept; everybody may have its public half."""

    def sign(self, statement: bytes) -> Seal:
        """Sign with this region's key. One call.

        Raises:
            Unavailable: the key does not answer, or this caller may not sign.
        """

    def public(self, region: str) -> Mapping[str, PublicJwk]:
        """Return the public halves of a region's keys, by their ids (RFC 7638). Remembered.

        Raises:
            Unavailable: they cannot be had now.
        """

    def is_signed(self, region: str, statement: bytes, seal: Seal) -> bool | None:
        """Tell whether a region's key made this signature under this statement. Raises as `public`.

        None where the signature names a key that is none of the region's known ones: one that was replaced, for
        instance, whose public half nobody has here. Then nothing is known of the signature.
        """


class SealMemory(Protocol):
    """The last sealed checkpoint, remembered where who rewrites the data does not reach: so an older copy is seen."""

    def record(self) -> SealRecord | None:
        """Return what is remembered; None where nothing is. Raises Unavailable."""

    def remember(self, sealed: LastSealed) -> None:
        """Remember a checkpoint that stands in the bucket, as `core.sealing.remembered` says.

        Raises:
            Unavailable: it is not remembered.
        """
