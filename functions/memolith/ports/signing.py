"""The keys of the tokens of sessions: private halves sign, public halves verify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

Jwk = Mapping[str, str]
"""A JSON Web Key of Ed25519: ``kty``, ``crv``, ``x`` and, in a private half alone, ``d``. Source: RFC 8037."""


class SigningKeys(Protocol):
    """The same keys in every region, each under a name. Who may only verify cannot read the private halves."""

    def private(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Return the private halves; the last name in order signs. Remembered for some minutes unless `fresh`.

        Raises:
            Unavailable: they cannot be read here, or there are none.
        """

    def public(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Return the public half of every key that is still accepted. Remembered, and raises, as `private`."""
