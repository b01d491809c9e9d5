"""The signing keys of one machine: a file beside the owner's key, made when first needed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from memolith.adapters.local.files import locked, write_new
from memolith.ports.errors import Unavailable


class LocalSigningKeys:
    """`ports.signing.SigningKeys` in ``ROOT/signing.json``, readable by its owner alone; shared by every process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._keys: Mapping[str, bytes] = {}

    def keys(self, fresh: bool = False) -> Mapping[str, bytes]:
        """Return the accepted keys. See the port."""
        if fresh or not self._keys:
            self._keys = self._read()
        return self._keys

    def _read(self) -> Mapping[str, bytes]:
        path = self._root / "signing.json"
        try:
            with locked(self._root / "signing.lock"):
                if not path.exists():
                    write_new(self._root, json.dumps({"k1": secrets.token_hex(32)}).encode()).replace(path)
                return {name: str(key).encode() for name, key in json.loads(path.read_text()).items()}
        except (OSError, ValueError, AttributeError) as error:
            raise Unavailable("ROOT/signing.json cannot be read; without it, every token ends") from error
