"""The operating system's randomness, fit for secrets."""

from __future__ import annotations

import secrets


class SystemRandomness:
    """`ports.ids.Randomness` from the operating system. Safe for threads."""

    def bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)

    def fraction(self) -> float:
        return secrets.randbits(53) / (1 << 53)
