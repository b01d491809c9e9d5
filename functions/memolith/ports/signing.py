"""The keys that sign the tokens of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class SigningKeys(Protocol):
    """A replicated secret: the same keys in every region, each under a name. The last name in order signs."""

    def keys(self, fresh: bool = False) -> Mapping[str, bytes]:
        """Return every key that is still accepted, at least 32 bytes each; remembered for some minutes unless `fresh`.

        Raises:
            Unavailable: the secret cannot be read, or there is none.
        """
