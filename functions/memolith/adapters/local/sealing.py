"""What seals a laptop's checkpoints, outside the folder that it seals: ``~/.config/memolith/``.

    seal.json              the key of this user on this machine: a JWK set, readable by its owner alone
    seals/{folder}.json    of each folder, by the hash of its path: the last checkpoint that was sealed there

So a copy of the folder cannot be sealed anew elsewhere, and an older copy that is put back in its place is seen. A
folder that was moved is known again by its first checkpoint, which every older copy of it has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memolith.adapters import jwk
from memolith.adapters.local.failures import refused
from memolith.adapters.local.files import locked, make_folder, write_new
from memolith.adapters.signatures import is_signature, key_id, public_half, signed
from memolith.core.objects.checkpoint import Seal
from memolith.core.objects.schema import known
from memolith.core.sealing import LastSealed, SealRecord, remembered
from memolith.ports.errors import Unavailable
from memolith.ports.sealing import PublicJwk
from memolith.ports.signing import Jwk

KEYS = "seal.json"


class LocalSealing:
    """`ports.sealing.Sealing` in a folder of the user's configuration; the keys are made when first needed.

    All keys of the file verify; the last one in order of names signs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys: Mapping[str, Jwk] = {}

    def sign(self, statement: bytes) -> Seal:
        """Sign. See the port."""
        key = self._private()[max(self._private())]
        return Seal(key_id(key), signed(key, statement))

    def public(self, region: str) -> Mapping[str, PublicJwk]:
        """Return the public halves of all keys of the file. See the port."""
        return {key_id(key): public_half(key) for key in self._private().values()}

    def is_signed(self, region: str, statement: bytes, seal: Seal) -> bool | None:
        """Check a signature. See the port."""
        public = self.public(region).get(seal.key_id)
        return None if public is None else is_signature(public, statement, seal.signature)

    def _private(self) -> Mapping[str, Jwk]:
        if not self._keys:
            path = self._folder / KEYS
            try:
                make_folder(self._folder)
                with locked(self._folder / "seal.lock"):
                    if not path.exists():
                        write_new(self._folder, jwk.written({"k1": jwk.made()}).encode()).replace(path)
                    self._keys = jwk.read_private(path.read_text(errors="replace"))
            except OSError as error:
                raise refused("the key that seals checkpoints cannot be read", error, path) from error
            except Unavailable as error:
                hint = "put the file back from a backup; without it, remove it, and checkpoints are sealed by a new key"
                raise Unavailable("the key that seals checkpoints is no JWK set", cause=str(path), hint=hint) from error
        return self._keys


class LocalSealMemory:
    """`ports.sealing.SealMemory` of one data folder, by its path, in the folder of the user's configuration.

    Args:
        first: returns the hash of the data folder's first checkpoint; None where there is none. Where nothing is
            remembered by the path, this finds what was, at a path where no folder is any more.
    """

    def __init__(self, folder: Path, root: Path, first: Callable[[], str | None] = lambda: None) -> None:
        self._root, self._first = root.absolute(), first
        name = hashlib.sha256(str(self._root).encode()).hexdigest()[:32]
        self.path = folder / "seals" / f"{name}.json"

    def record(self) -> SealRecord | None:
        """Read the file. See the port."""
        return self._read(self._kept())

    def _kept(self) -> Path:
        """Return the folder's file: by its path, or by the one from which it was moved here."""
        if self.path.exists() or (first := self._first()) is None:
            return self.path
        found: list[tuple[int, Path]] = []
        for other in self.path.parent.glob("*.json"):
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                told = json.loads(other.read_text())
                if told.get("first") == first and not Path(told["root"]).exists():
                    found.append((_checkpoint(told["last"]).period, other))
        return max(found, default=(0, self.path))[1]

    def _read(self, path: Path) -> SealRecord | None:
        try:
            told = json.loads(path.read_text())
            return SealRecord(_checkpoint(told["last"]), tuple(map(_checkpoint, told["lost"])))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refused("the last sealed checkpoint cannot be read", error, path) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            hint = "remove the file; from then on it is not known which checkpoint was sealed last"
            raise Unavailable("the last sealed checkpoint cannot be read", cause=str(path), hint=hint) from error

    def remember(self, sealed: LastSealed) -> None:
        """Write the file anew, where there is something new. See the port."""
        try:
            make_folder(self.path.parent)
            with locked(self.path.with_suffix(".lock")):
                kept = self._kept()
                before = self._read(kept)
                after = remembered(before, sealed)
                if after != before or kept != self.path:
                    told = {"schema": "1", "root": str(self._root), "first": self._first(), **asdict(after)}
                    write_new(self.path.parent, json.dumps(told).encode()).replace(self.path)
                if kept != self.path:
                    kept.unlink(missing_ok=True)
        except OSError as error:
            raise refused("the last sealed checkpoint cannot be remembered", error, self.path) from error


def _checkpoint(told: Mapping[str, Any]) -> LastSealed:
    """Return one checkpoint of the file. Raises TypeError, and ValueError where the period is no whole number."""
    sealed = LastSealed(**known(LastSealed, told))
    if not isinstance(sealed.period, int):
        raise ValueError("a period is no whole number")
    return sealed
