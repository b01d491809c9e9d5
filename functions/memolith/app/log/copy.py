"""The one copy of an object from region to region: key, body and metadata as they are, never over what is there."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.ports.objects import StoredObject


@dataclass(frozen=True, slots=True)
class Copied:
    """An object that stands in the target's bucket now; `is_new` where this copy put it."""

    found: StoredObject
    is_new: bool


def copy_object(region: Region, key: str, source: str, target: str | None = None) -> Copied | None:
    """Copy an object from the bucket of `source` into `target`'s (default: this region's); None where there is none.

    Repeatable. One GET and one conditional PUT.

    Raises:
        Unavailable: a bucket does not answer, or the copy may not be there; repeat it.
    """
    found = find(region.objects, key, source)
    return None if found is None else Copied(found, put_copy(region, found, target))


def put_copy(region: Region, found: StoredObject, target: str | None = None) -> bool:
    """Put an object that was read elsewhere; whether it is new there. What is there already is as good. One PUT.

    Raises:
        Unavailable: it may not be there; repeat it.
    """
    try:
        return put_if_absent(region, found.key, found.body, found.metadata, at=target) is Put.MINE
    except (Busy, OutcomeUnknown) as error:
        facts = {"region": target or region.name, "object": found.key}
        raise Unavailable("an object may not have been copied", **facts, hint="try again") from error
