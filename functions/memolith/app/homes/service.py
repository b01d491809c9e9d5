"""Where stores have their homes, and how that changes: the one facade over it, as a region's reconciler answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.homes.failover import Failover
from memolith.app.homes.handoff import Handoff
from memolith.app.homes.transfer import Transfer
from memolith.app.indexer.indexer import Indexer
from memolith.app.kernel.peer_messages import encode_error
from memolith.app.kernel.region import Region, asked
from memolith.app.log.log_reader import LogReader
from memolith.core.errors import MemolithError, NotFound
from memolith.core.log_position import Slot
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.sync_replica import is_stand_in, second_of

MOVE_BUDGET_S = 12.0
"""How long one call copies and looks before it answers: what follows has to fit into its caller's patience of 25 s."""

STORES_PER_PAGE = 100


class Homes:
    """Lists, moves and takes over stores, for one region."""

    def __init__(self, region: Region) -> None:
        indexing = Indexer(region)
        self._region = region
        self._moving = Transfer(region, indexing)
        self._failing_over = Failover(region, indexing)
        self._handing_over = Handoff(region)
        self._second = SyncReplica(region, LogReader(region))

    def direct(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a peer's or an operator's call, which only IAM authorises: ``{"call": "homes.…"}``; errors as
        ``error``.

        Raises:
            KeyError, TypeError, ValueError: a payload that no version of Memolith made.
        """
        fields = dict(payload)
        call = fields.pop("call")
        try:
            if call == "homes.list":
                return self.page(**fields)
            if call == "homes.move":
                return asdict(self._moving.move(budget_s=MOVE_BUDGET_S, **fields))
            if call == "homes.fail_over":
                return asdict(self._failing_over.take_over(budget_s=MOVE_BUDGET_S, **fields))
            steps: dict[str, Callable[..., dict[str, Any]]] = {
                "homes.is_held": self.is_held,
                "homes.begin": self._handing_over.begin,
                "homes.commit": self._handing_over.commit,
                "homes.give_up": self._handing_over.give_up,
            }
            if call in steps:
                return steps[call](**fields)
        except MemolithError as error:
            return {"error": encode_error(error)}
        raise ValueError("no such call")

    def is_held(self, store_id: str) -> dict[str, Any]:
        """Tell whether a failover to this region begins with all that the store has acknowledged in two regions.

        Decides by the record as this region knows it. An index read, and what `SyncReplica.is_held` costs.

        Raises:
            NotFound: this region has never heard of the store. Unavailable: the region does not answer.
        """
        attributes = self._region.view([StoreRow.key(store_id)]).rows.get(StoreRow.key(store_id))
        if attributes is None:
            raise NotFound("memory_store", store_id)
        return {"store_id": store_id, "held": self._second.is_held(StoreRow.from_attributes(attributes))}

    def page(self, after: str | None) -> dict[str, Any]:
        """List up to a hundred stores that this region knows, in no meaningful order; ``next`` goes on after them.

        A LIST, and a read for a hundred.

        Raises:
            Unavailable: the region does not answer.
        """
        regions = sorted(self._region.regions)
        birth, _, last = (after or f"{regions[0]} ").partition(" ")
        ids, further = self._ids(birth, last)
        keys = [StoreRow.key(id) for id in ids]
        rows = self._region.view(keys).rows if keys else {}
        found = [StoreRow.from_attributes(rows[key]) for key in keys if key in rows]
        if further is None and birth != regions[-1]:
            further = f"{regions[regions.index(birth) + 1]} "
        shown = [_shown(row, self._region.regions) for row in found if row.state != StoreState.DELETED]
        return {"stores": shown, "next": further}

    def _ids(self, birth: str, last: str) -> tuple[list[str], str | None]:
        """List stores that were born in a region: their first record is under its prefix."""
        prefix, ids = f"{birth}/store/", list[str]()
        after = f"{prefix}{last}/~" if last else None
        while len(ids) < STORES_PER_PAGE:
            page = asked(partial(self._region.objects.list, prefix, after, 1))
            if not page.keys:
                return ids, None
            key = parse_key(page.keys[0])
            if isinstance(key, StoreKey):
                after = f"{prefix}{key.store_id}/~"
                if key.slot.epoch.number == 1:
                    ids.append(key.store_id)
        return ids, f"{birth} {ids[-1]}"


def _shown(row: StoreRow, regions: Sequence[str]) -> dict[str, Any]:
    return {
        "store_id": row.store_id,
        "name": row.name,
        "home": row.home,
        "state": row.state,
        "epochs": row.epochs,
        "moving_to": row.moving_to,
        "apart": [str(StoreKey(row.store_id, Slot.parse(slot))) for slot in row.apart or ()],
        "second_region": second_of(row.home, row.epochs, row.second_region, regions),
        "second_stands_in": is_stand_in(row.home, row.second_region),
    }
