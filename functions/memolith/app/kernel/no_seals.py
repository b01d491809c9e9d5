"""No keys that sign checkpoints: for functions that neither seal nor prove."""

from __future__ import annotations

from collections.abc import Mapping

from memolith.core.errors import Unavailable
from memolith.core.objects.checkpoint import Seal
from memolith.ports.sealing import PublicJwk, Sealing


class _NoSealing:
    def sign(self, statement: bytes) -> Seal:
        """Raise Unavailable."""
        raise Unavailable("this function does not seal checkpoints; the reconciler does")

    def public(self, region: str) -> Mapping[str, PublicJwk]:
        """Raise Unavailable."""
        raise Unavailable("this function has no keys of checkpoints; ask a reader", region=region)

    def is_signed(self, region: str, statement: bytes, seal: Seal) -> bool | None:
        """Raise Unavailable, as `public` does."""
        return bool(self.public(region))


NO_SEALING: Sealing = _NoSealing()
