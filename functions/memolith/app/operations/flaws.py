"""Telling what was done to an object that is not what was acknowledged, by where else what it has now was acknowledged.

What stands in the place of another broken object was not acknowledged there: that one's name says what was.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.port_calls import find_head
from memolith.app.kernel.region import Region
from memolith.core.audit import Finding, Flaw, State, fits
from memolith.core.errors import Damaged
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry, Operation


@dataclass(slots=True)
class Broken:
    """A version's object that is not what was acknowledged, and whose flaw is still to be told apart.

    Attributes:
        name, period: how the checkpoint of which period names it.
        state: what comparing it showed.
        entry, body_sha256: what stands in its place; None where nothing does, or nothing can be read.
        salt: its store's.
    """

    name: Named
    key: LogKey
    period: int
    state: State
    entry: Entry | None
    body_sha256: str | None
    salt: str

    @property
    def version_id(self) -> str | None:
        """The version that the object says it is, as a checkpoint names it."""
        if self.entry is None:
            return None
        return self.entry.moved_version_id if self.entry.operation is Operation.MOVED_OUT else self.entry.version_id

    def was(self, text: str) -> bool:
        """Tell whether this is the version, or had the text with this hash, when it was acknowledged."""
        return bool(text) and (text == self.name.version_id or fits(self.name, text, self.salt))


def classify(region: Region, home: str, broken: Sequence[Broken]) -> list[Finding]:
    """Tell the class of each. Nothing to do costs nothing; otherwise a HEAD of each version of the home. Raises
    Unavailable.
    """
    places = _places_of(region, home, broken) if broken else {}
    findings: dict[str, Finding] = {}
    for one in broken:
        findings.setdefault(one.name.key, Finding(_flaw(region, one, places, broken), one.name.key, one.period))
    return list(findings.values())


def _places_of(region: Region, home: str, broken: Sequence[Broken]) -> dict[str, list[LogKey]]:
    """Return where the versions and texts that stand in the place of others stand as well, acknowledged or not."""
    wanted = {text for one in broken for text in (one.version_id, one.body_sha256) if text}
    found: dict[str, list[LogKey]] = {}
    for key in keys_under(region.objects, f"{home}/log/"):
        with suppress(Damaged, ValueError):
            parsed, head = parse_key(key), find_head(region.objects, key)
            if head is not None and isinstance(parsed, LogKey):
                entry = Entry.from_metadata(parsed, head.metadata)
                for text in {entry.version_id, entry.content_sha256 or ""} & wanted:
                    found.setdefault(text, []).append(parsed)
    return found


def _flaw(region: Region, one: Broken, places: dict[str, list[LogKey]], broken: Sequence[Broken]) -> Flaw:
    if one.state is State.GONE:
        return Flaw.MISSING if _goes_on(region, one.key) else Flaw.TRUNCATED
    if one.state is State.BROKEN:
        return Flaw.UNREADABLE
    is_another = one.version_id != one.name.version_id
    if one.state is State.METADATA and not is_another:
        return Flaw.METADATA_CHANGED
    if any(_exchanged(one, other) for other in broken):
        return Flaw.REORDERED
    touched = {other.key for other in broken}
    for text in ((one.version_id or "") if is_another else "", one.body_sha256 or ""):
        elsewhere = {key for key in places.get(text, ()) if key not in touched}
        elsewhere |= {other.key for other in broken if other.key != one.key and other.was(text)}
        if any(key.store_id == one.key.store_id for key in elsewhere):
            return Flaw.ROLLED_BACK
        if elsewhere:
            return Flaw.REPLAYED
    return Flaw.ALTERED


def _goes_on(region: Region, key: LogKey) -> bool:
    """Tell whether the log of the path has anything after this slot."""
    prefix = str(key).rpartition("/")[0] + "/"
    return bool(region.objects.list(prefix, after=str(key), limit=1).keys)


def _exchanged(one: Broken, other: Broken) -> bool:
    """Tell whether two broken versions of one store have each other's text, or are each other."""
    if one.key == other.key or one.key.store_id != other.key.store_id:
        return False
    if one.version_id == other.name.version_id and other.version_id == one.name.version_id:
        return True
    return fits(other.name, one.body_sha256, one.salt) and fits(one.name, other.body_sha256, one.salt)
