"""Keys that sign checkpoints, and a memory of the last one, in memory."""

from __future__ import annotations

from collections.abc import Mapping

from memolith.adapters.jwk import made
from memolith.adapters.signatures import is_signature, key_id, public_half, signed
from memolith.core.objects.checkpoint import Seal
from memolith.core.sealing import LastSealed, SealRecord, remembered
from memolith.ports.errors import Unavailable
from memolith.ports.sealing import PublicJwk
from memolith.ports.signing import Jwk


class MemorySealing:
    """`ports.sealing.Sealing` of one region, with Ed25519 keys by region that all of them share.

    Attributes:
        silent: the regions whose key does not answer.
    """

    def __init__(self, keys: Mapping[str, Jwk], region: str) -> None:
        self._keys = keys
        self._region = region
        self.silent: set[str] = set()

    @staticmethod
    def keys_of(regions: tuple[str, ...]) -> dict[str, Jwk]:
        """Make a key for each region; the same for the same name."""
        return {region: made(region.encode().ljust(32, b".")[:32]) for region in regions}

    def sign(self, statement: bytes) -> Seal:
        """Sign. See the port."""
        key = self._key(self._region)
        return Seal(key_id(key), signed(key, statement))

    def public(self, region: str) -> Mapping[str, PublicJwk]:
        """Return the one key of a region. See the port."""
        key = self._key(region)
        return {key_id(key): public_half(key)}

    def is_signed(self, region: str, statement: bytes, seal: Seal) -> bool | None:
        """Check a signature. See the port."""
        public = self.public(region).get(seal.key_id)
        return None if public is None else is_signature(public, statement, seal.signature)

    def _key(self, region: str) -> Jwk:
        if region in self.silent or region not in self._keys:
            raise Unavailable(f"the key of {region} does not answer")
        return self._keys[region]


class MemorySealMemory:
    """`ports.sealing.SealMemory` in memory."""

    def __init__(self) -> None:
        self._record: SealRecord | None = None

    def record(self) -> SealRecord | None:
        """Return what is remembered. See the port."""
        return self._record

    def remember(self, sealed: LastSealed) -> None:
        """Remember. See the port."""
        self._record = remembered(self._record, sealed)
