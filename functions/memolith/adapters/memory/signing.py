"""Signing keys in memory."""

from __future__ import annotations

from collections.abc import Mapping

from memolith.adapters.jwk import made, public_of
from memolith.ports.errors import Unavailable
from memolith.ports.signing import Jwk


class MemorySigningKeys:
    """`ports.signing.SigningKeys` out of seeds of 32 bytes by name, which their owner may change; with none, no keys.

    Attributes:
        accepted: the names that verify; all of them while it is None.
    """

    def __init__(self, seeds: Mapping[str, bytes]) -> None:
        self.current = {name: made(seed) for name, seed in seeds.items()}
        self.accepted: frozenset[str] | None = None

    def private(self, fresh: bool = False) -> Mapping[str, Jwk]:
        if not self.current:
            raise Unavailable("there is no secret")
        return dict(self.current)

    def public(self, fresh: bool = False) -> Mapping[str, Jwk]:
        accepted = self.private().keys() if self.accepted is None else self.accepted
        return {name: key for name, key in public_of(self.private()).items() if name in accepted}
