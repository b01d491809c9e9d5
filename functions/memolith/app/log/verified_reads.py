"""Reading the text of a version, and comparing it with the hash that was acknowledged before anything is made of it.

    this region's copy -> its home's -> the other regions', which are asked only where one of the first two is damaged

A text is answered only if it is the acknowledged one. So a body that changed behind Memolith's back is never shown,
never copied into another version by a rename, and never searched or scanned as if it were the version's.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from memolith.app.kernel.damage_report import report_damage
from memolith.app.kernel.port_calls import find, find_head
from memolith.app.kernel.region import Region
from memolith.core.errors import Damaged, Unavailable
from memolith.core.integrity import Acknowledged, Damage, damage_of
from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Entry
from memolith.ports.objects import StoredObject

REPAIR = "run 'memolith repair', which restores it where a whole copy is left"


@dataclass(slots=True)
class _Search:
    """What was found out about the copies of one object so far."""

    key: LogKey
    acknowledged: Acknowledged
    damaged: dict[str, Damage] = field(default_factory=dict)
    silent: Unavailable | None = None


def verified_entry(region: Region, key: LogKey, acknowledged: Acknowledged) -> tuple[Entry, str] | None:
    """Return an entry and its text, which is the acknowledged one; None once it has been blanked.

    One GET, a second one where the object has not arrived here; one more for each further region where a copy is
    damaged, or the home's is missing. Each damaged copy is counted and logged.

    Raises:
        Damaged: every copy is damaged or missing. Repeating the call does not help.
        Unavailable: it is not here, and its home does not answer; or the copies that answer are damaged.
    """
    stored = _find(region, _Search(key, acknowledged))
    entry = Entry.from_metadata(key, stored.metadata)
    return None if entry.blank else (entry, stored.body.decode())


def verified_text(region: Region, key: LogKey, acknowledged: Acknowledged) -> str:
    """Return the text of a version. Costs and raises as `verified_entry`; Unavailable once it was erased."""
    found = verified_entry(region, key, acknowledged)
    if found is None:
        raise Unavailable("the text was erased meanwhile", region=region.name, object=str(key))
    return found[1]


def _find(region: Region, search: _Search) -> StoredObject:
    """Return the first copy that is whole."""
    home = search.key.slot.epoch.home
    for at in dict.fromkeys((region.name, home, *region.regions)):
        found = _look(region, search, at)
        if found is not None:
            if search.damaged:
                _report(region, search)
            return found
        if search.silent is not None and not search.damaged:
            raise search.silent
        if at == home:
            search.damaged.setdefault(home, Damage.MISSING)
    _report(region, search)
    raise _failure(region, search)


def _look(region: Region, search: _Search, at: str) -> StoredObject | None:
    """Return a region's copy if it is whole; otherwise note what is wrong with it."""
    try:
        found, damage = copy_at(region, search.key, search.acknowledged, at)
    except Unavailable as error:
        search.silent = error
        return None
    if damage is None:
        return found
    if damage is not Damage.MISSING:
        search.damaged[at] = damage
    return None


def copy_at(
    region: Region, key: LogKey, acknowledged: Acknowledged, at: str
) -> tuple[StoredObject | None, Damage | None]:
    """Return the copy in one region's bucket, and what is wrong with it. One GET; a HEAD where that is refused.

    Of a body that the adapter itself refuses, only the head is returned, with an empty body; None where that is damaged
    too.

    Raises:
        Unavailable: the bucket does not answer.
    """
    try:
        found = find(region.objects, str(key), at)
    except Damaged:
        with suppress(Damaged):
            return find_head(region.objects, str(key), at), Damage.ALTERED
        return None, Damage.UNREADABLE
    if found is None:
        return None, Damage.MISSING
    return found, damage_of(key, found.metadata, found.body, acknowledged)


def _report(region: Region, search: _Search) -> None:
    report_damage(region, {(search.key, at): damage for at, damage in search.damaged.items()})


def _failure(region: Region, search: _Search) -> Unavailable:
    key = str(search.key)
    if search.silent is not None:
        facts = {"region": search.silent.region, "object": key, "cause": search.silent.cause}
        return Unavailable("the copies that answer are damaged, and one does not answer", **facts, hint="try again")
    at = region.name if region.name in search.damaged else search.key.slot.epoch.home
    return Damaged(
        "the stored text of this version is damaged, and no region has a whole copy",
        version_id=search.acknowledged.version_id,
        region=at,
        object=key,
        cause=search.damaged[at].value,
        hint=REPAIR,
    )
