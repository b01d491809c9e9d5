"""Objects that an earlier release wrote, as they are in its buckets: what every later release must still read.

Both files were written by commit ed0dd6a, and nothing in them is ever edited. `LAPTOP` is what its laptop server kept
after it was driven with the SDK: changes, renames, a deletion, a redaction, an archived and a deleted store, sessions.
`TWO_REGIONS` is what its use cases put in two regions over adapters in memory, among it verdicts, checkpoints, and the
epoch snapshot of a store whose home moved. The tests over them know their texts by heart.

``release.tar.xz`` is the package ``memolith`` of commit caa040f, the first whose readers pass unknown fields over,
and so the first that a later release can be rolled back to. Its command line is left out, and most of its rules,
which take half a minute to compile. `unpack` gives it, to be run over what this release has written. When releases
are made, the last one takes its place: ``git archive RELEASE functions/memolith``.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memolith.ports.objects import StoredObject

LAPTOP, TWO_REGIONS = "laptop", "two_regions"
RELEASE = Path(__file__).with_name("release.tar.xz")


def unpack(folder: Path) -> Path:
    """Unpack the earlier release's package into a folder, for a process whose path begins with it."""
    with tarfile.open(RELEASE) as packed:
        packed.extractall(folder, filter="data")
    return folder


@dataclass(frozen=True, slots=True)
class Earlier:
    """One deployment's objects, and the ids of what is in them, by the names that tests use."""

    ids: Mapping[str, str]
    objects: tuple[StoredObject, ...]

    @classmethod
    def load(cls, name: str) -> Earlier:
        """Read one of the files beside this one."""
        found = json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
        return cls(found["ids"], tuple(map(_stored, found["objects"])))


def _stored(fields: Mapping[str, Any]) -> StoredObject:
    body = fields["body"].encode()
    return StoredObject(fields["key"], body, fields["metadata"], len(body))
