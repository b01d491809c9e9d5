"""Attacks on a laptop's folder by somebody who has its files: the classes of agmi, on records that are versions."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memolith.adapters.local.keys import path_of
from memolith.adapters.local.objects import HEADER_SHA256, OBJECTS
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key


@dataclass(frozen=True, slots=True)
class RawVersion:
    """One object's file, as an attacker reads and writes it.

    `recomputed`: the attacker brings every hash in the file in line with what it now says.
    """

    key: str
    metadata: Mapping[str, str]
    body: bytes

    def write(self, root: Path, *, recomputed: bool) -> None:
        """Puts the file there; a naive attacker leaves the hashes as they were."""
        path = path_of(root / OBJECTS, self.key)
        metadata = dict(self.metadata)
        header: dict[str, Any] = {"memolith_object": 1, "key": self.key, "metadata": metadata}
        if recomputed:
            if "sha" in metadata:
                metadata |= {"sha": hashlib.sha256(self.body).hexdigest(), "size": str(len(self.body))}
            header |= {"sha256": hashlib.sha256(self.body).hexdigest(), "size_bytes": len(self.body)}
            header[HEADER_SHA256] = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()
        else:
            before = json.loads((path if path.exists() else last_of(path)).read_bytes().partition(b"\n")[0])
            header |= {name: before[name] for name in ("sha256", "size_bytes", HEADER_SHA256)}
        path.write_bytes(json.dumps(header).encode() + b"\n" + self.body)


def last_of(path: Path) -> Path:
    """The last file beside this one, which a forger copies."""
    return max(path.parent.iterdir())


def read_raw(root: Path, key: str) -> RawVersion:
    """The file of an object, whatever its hashes say."""
    line, _, body = path_of(root / OBJECTS, key).read_bytes().partition(b"\n")
    return RawVersion(key, json.loads(line)["metadata"], body)


def remove_raw(root: Path, key: str) -> None:
    path_of(root / OBJECTS, key).unlink()


def versions_of(root: Path, store_id: str) -> list[str]:
    """The keys of a store's versions, in the order of their slots."""
    objects = root / OBJECTS
    files = [path for path in objects.rglob("*@") if path.is_file() and f"/log/{store_id}/" in str(path)]
    keys = ["/".join(path.relative_to(objects).parts).removesuffix("@") for path in files]
    return sorted(keys)


def forged(genuine: RawVersion) -> RawVersion:
    """A version that nobody wrote, in the slot after the last one."""
    key = parse_key(genuine.key)
    assert isinstance(key, LogKey)
    following = str(replace(key, slot=key.slot.following))
    body = b"the limit is 9000"
    changed = {
        "id": genuine.metadata["id"][:-4] + "zzzz",
        "gen": str(int(genuine.metadata["gen"]) + 1),
        "prev": genuine.metadata["id"],
        "sha": hashlib.sha256(body).hexdigest(),
        "size": str(len(body)),
    }
    return RawVersion(following, {**genuine.metadata, **changed}, body)


def copied_over(root: Path, victim: str, donor: str) -> RawVersion:
    """The donor's version in the victim's slot: text and all that is said of it."""
    return replace(read_raw(root, donor), key=victim)


def snapshot(root: Path, to: Path) -> None:
    """A copy of everything that the folder has."""
    shutil.copytree(root, to)


def put_back(root: Path, copy: Path) -> None:
    shutil.rmtree(root)
    shutil.copytree(copy, root)


def forget_tables(root: Path) -> None:
    """Removes what a start makes anew."""
    for path in (*root.glob("index-*"), *root.glob("queue.sqlite*")):
        path.unlink()
