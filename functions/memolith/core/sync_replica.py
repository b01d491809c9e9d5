"""In how many regions a write stands when it is acknowledged, and which the second one is.

A store is `one_region`, and its home's bucket is enough, or `two_regions`, and a second region's bucket must hold the
write too. Which region is the second stands in the store's record, so that an operator who fails over knows where
nothing is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from memolith.core.errors import InvalidRequest
from memolith.core.objects.store_record import parse_epoch


class Durability(StrEnum):
    """How much it takes to lose what was acknowledged: one region, or two."""

    ONE_REGION = "one_region"
    TWO_REGIONS = "two_regions"


def durability_of(second_region: str | None) -> Durability:
    """Return what a record's `second_region` means."""
    return Durability.ONE_REGION if second_region is None else Durability.TWO_REGIONS


def next_region(home: str, regions: Sequence[str], but: str | None = None) -> str | None:
    """Return the region after `home` in the deployment's order, wrapping round; `but` only where there is no other."""
    place = regions.index(home) if home in regions else 0
    others = [region for region in (*regions[place + 1 :], *regions[:place]) if region != home]
    return next((region for region in others if region != but), others[0] if others else None)


def second_of(home: str, epochs: Sequence[str], second_region: str | None, regions: Sequence[str]) -> str | None:
    """Return the region that must hold a write besides its home; None where the home is enough, or is the only region.

    Once the second region is the home itself, it is the next one that was not the home before: after a failover the old
    home does not answer, and a write cannot wait for it.
    """
    if second_region is None or second_region != home:
        return second_region
    before = parse_epoch(epochs[-2]).home if len(epochs) > 1 else None
    return next_region(home, regions, but=before)


def is_stand_in(home: str, second_region: str | None) -> bool:
    """Tell whether `second_of` names a region that the record does not: it has only what was written since."""
    return second_region is not None and second_region == home


def chosen_second(
    home: str, regions: Sequence[str], before: str | None, durability: str | None, second_region: str | None
) -> str | None:
    """Return the `second_region` for the next record, given what a request asks for; what it leaves out stays.

    Two regions without a name are the home and the region after it in the deployment's order.

    Raises:
        InvalidRequest: no other region is there, or the named one cannot be meant.
    """
    if durability == Durability.ONE_REGION or (durability is None and before is None):
        if second_region is not None:
            raise InvalidRequest("second_region", f"goes with durability {Durability.TWO_REGIONS}")
        return None
    if second_region is not None:
        others = [region for region in regions if region != home]
        if second_region not in others:
            raise InvalidRequest(
                "second_region", f"must be another region than the home: {' or '.join(others) or 'none'}"
            )
        return second_region
    chosen = before or next_region(home, regions)
    if chosen is None:
        raise InvalidRequest("durability", "needs a second region, and none is deployed")
    return chosen


def deployed_second(home: str, regions: Sequence[str], before: str | None) -> str | None:
    """Return the `second_region` of a store that is restored: the next one where its own was removed meanwhile."""
    return before if before in (None, *regions) else next_region(home, regions)
