"""Random damages to a copy of a laptop's folder, and what has to hold after each.

A damage is something that happens to a disk or a machine: a file is cut, zeroed, emptied, removed, has a bit flipped or
noise in it; a server is killed, and the next one starts. What has to hold: the next start serves, at once or after
`memolith doctor --fix`; every text that was acknowledged is there, but for those whose own object was damaged, or whose
store's record was; and what was damaged is named.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memolith.adapters.local.keys import key_of
from memolith.adapters.local.objects import read_file
from memolith.core.errors import MemolithError

KINDS = ("cut", "flip", "zero", "empty", "delete", "noise")


@dataclass(slots=True)
class Damage:
    """What was done to the folder. `lost`: texts that it may cost. `stores`: stores that it may cost."""

    told: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)
    files: set[Path] = field(default_factory=set)


def damage_folder(root: Path, chance: random.Random) -> Damage:
    """Damage one to three files, of any kind that the folder has."""
    done = Damage()
    for _ in range(chance.randint(1, 3)):
        path = _victim(root, chance)
        if path is not None:
            _damage_file(root, path, chance, done)
    if chance.random() < 0.3:
        done.told.append("index gone")
        for path in root.glob("index-*"):
            path.unlink()
    return done


def _victim(root: Path, chance: random.Random) -> Path | None:
    """Choose a file: as often one that can be made anew as an object."""
    objects = sorted(path for path in (root / "objects").rglob("*@") if path.is_file())
    derived = sorted(path for path in root.iterdir() if path.is_file() and path.suffix != ".lock")
    several = chance.choice([objects, derived])
    return chance.choice(several) if several else None


def _damage_file(root: Path, path: Path, chance: random.Random, done: Damage) -> None:
    kind = chance.choice(KINDS)
    before = path.read_bytes()
    place = chance.randrange(max(len(before), 1))
    acts: dict[str, Callable[[], object]] = {
        "cut": lambda: os.truncate(path, place),
        "flip": lambda: path.write_bytes(_flipped(before, place, chance)),
        "zero": lambda: path.write_bytes(
            before[:place] + bytes(min(4096, len(before) - place)) + before[place + 4096 :]
        ),
        "empty": lambda: os.truncate(path, 0),
        "delete": path.unlink,
        "noise": lambda: path.write_bytes(before[:place] + chance.randbytes(min(4096, len(before) - place))),
    }
    acts[kind]()
    done.told.append(f"{kind} {path.relative_to(root)} at {place} of {len(before)}")
    done.files.add(path)
    parts = path.relative_to(root).parts
    if parts[:3] == ("objects", "laptop", "log"):
        done.texts.add(before.partition(b"\n")[2].decode(errors="replace"))
    elif parts[:3] == ("objects", "laptop", "store"):
        done.stores.add(parts[3])


def _flipped(before: bytes, place: int, chance: random.Random) -> bytes:
    content = bytearray(before or b"\0")
    content[min(place, len(content) - 1)] ^= 1 << chance.randrange(8)
    return bytes(content)


def copy_of(root: Path, target: Path) -> Path:
    """Copy a folder that nothing serves."""
    shutil.copytree(root, target, ignore=shutil.ignore_patterns("*.lock"))
    return target


def damaged_objects(root: Path, whole: Path, damage: Damage) -> set[Path]:
    """The objects among the damaged files that are there and no longer say what they said."""
    found = set()
    for path in damage.files:
        key = key_of(root / "objects", path) if path.is_relative_to(root / "objects") else None
        if key is None or not path.exists():
            continue
        try:
            now = read_file(path, key, whole=True)
        except MemolithError:
            found.add(path)
            continue
        assert now == read_file(whole / path.relative_to(root), key, whole=True), (
            f"a damage was not seen: {damage.told}"
        )
    return found
