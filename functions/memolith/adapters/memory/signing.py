"""Signing keys in memory."""

from __future__ import annotations

from collections.abc import Mapping

from memolith.ports.errors import Unavailable


class MemorySigningKeys:
    """`ports.signing.SigningKeys` as a mapping that its owner may change; empty, there is no secret."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self.current = dict(keys)

    def keys(self, fresh: bool = False) -> Mapping[str, bytes]:
        if not self.current:
            raise Unavailable("there is no secret")
        return dict(self.current)
