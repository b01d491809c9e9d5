"""Public keys that somebody saved when a deployment began to be trusted, beside those that it shows now.

So what was signed with a key that has been replaced since is verified still. The file is what ``memolith audit keys``
prints: a JWK set whose keys name their region.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memolith.adapters.signatures import is_signature, key_id, public_half
from memolith.core.objects.checkpoint import Seal
from memolith.ports.sealing import PublicJwk, Sealing

FILE_MAX_BYTES = 1_000_000

KeysByRegion = Mapping[str, Mapping[str, PublicJwk]]


def jwk_set(sealing: Sealing, regions: Iterable[str]) -> dict[str, Any]:
    """Return the public keys of regions as `read_keys` takes them. Raises Unavailable."""
    return {"keys": [{**key, "kid": id, "region": at} for at in regions for id, key in sealing.public(at).items()]}


def read_keys(*paths: Path) -> KeysByRegion:
    """Return the keys of files by region, then id. Raises OSError, and ValueError where one is no such file."""
    found: dict[str, dict[str, PublicJwk]] = {}
    for path in paths:
        with path.open("rb") as opened:
            body = opened.read(FILE_MAX_BYTES + 1)
        if len(body) > FILE_MAX_BYTES:
            raise ValueError(f"{path} has more than {FILE_MAX_BYTES} bytes")
        try:
            for key in json.loads(body)["keys"]:
                half = public_half(key)
                found.setdefault(str(key["region"]), {})[key_id(half)] = half
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path} is not what `memolith audit keys` prints") from error
    return found


class SavedKeys:
    """`ports.sealing.Sealing` that verifies with saved keys too. It signs as the one that it stands before."""

    def __init__(self, sealing: Sealing, saved: KeysByRegion) -> None:
        self._sealing = sealing
        self._saved = saved

    def sign(self, statement: bytes) -> Seal:
        """Sign. See the port."""
        return self._sealing.sign(statement)

    def public(self, region: str) -> Mapping[str, PublicJwk]:
        """Return a region's keys, the saved ones among them. See the port."""
        return {**self._saved.get(region, {}), **self._sealing.public(region)}

    def is_signed(self, region: str, statement: bytes, seal: Seal) -> bool | None:
        """Check a signature; no call for one by a saved key. See the port."""
        saved = self._saved.get(region, {}).get(seal.key_id)
        if saved is not None:
            return is_signature(saved, statement, seal.signature)
        return self._sealing.is_signed(region, statement, seal)
