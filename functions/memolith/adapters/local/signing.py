"""The signing keys of one machine: a file beside the owner's key, made when first needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memolith.adapters import jwk
from memolith.adapters.local.files import locked, write_new
from memolith.ports.errors import Unavailable
from memolith.ports.signing import Jwk


class LocalSigningKeys:
    """`ports.signing.SigningKeys` in ``ROOT/signing.json``, readable by its owner alone; shared by every process.

    The file holds the private halves; every process of a folder may sign. One that holds no such keys, as an earlier
    release made it, is replaced, and the tokens that it signed end.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._keys: Mapping[str, Jwk] = {}

    def private(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Return the private halves. See the port."""
        if fresh or not self._keys:
            self._keys = self._read()
        return self._keys

    def public(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Return the public halves of all of them. See the port."""
        return jwk.public_of(self.private(fresh))

    def _read(self) -> Mapping[str, Jwk]:
        path = self._root / "signing.json"
        try:
            with locked(self._root / "signing.lock"):
                if not path.exists():
                    self._make(path)
                try:
                    return jwk.read_private(path.read_text(errors="replace"))
                except Unavailable:
                    self._make(path)
                    return jwk.read_private(path.read_text(errors="replace"))
        except (OSError, ValueError) as error:
            raise Unavailable("ROOT/signing.json cannot be read; without it, every token ends") from error

    def _make(self, path: Path) -> None:
        write_new(self._root, jwk.written({"k1": jwk.made()}).encode()).replace(path)
