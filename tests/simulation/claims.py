"""What a region says of itself while clients write: asked as a client could, for what was acknowledged so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from memolith.adapters.memory import MemoryIndex
from memolith.core import errors
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LATE_PREFIX, VersionRow
from tests.simulation.history import Claim, Seen

if TYPE_CHECKING:
    from tests.simulation.sites import Site
    from tests.simulation.world import World

ASKED_MAX = 40


def hear(world: World, site: Site) -> None:
    """Asks a region in one batch for what was acknowledged so far, and notes what it says of itself.

    Like every read of the API, with the mark of the table that it reads: only then is what the region says of
    itself an answer that a client could get.

    A batch is no snapshot: one transaction moves a version's row from the history to the late ones, and a batch in
    the middle of it has neither. What the batch lacks is therefore looked up in the same tables at one instant. Where
    that lacks it too, the marks are read once more, as every call does before it says that something is not there: the
    batch may have read them before the tables were emptied, and the rest after.
    """
    answers = [one.answer for one in world.history.operations[-ASKED_MAX:] if one.acknowledged]
    asked = {one.version_id: one.memory_id for one in answers if isinstance(one, Seen)}
    keys = [key for store_id in world.stores for id in asked for key in _places_of(store_id, id)]
    tables = sorted({key.table for key in keys})
    try:
        view = site.use(lambda sandbox: sandbox.region.view(keys, marked=tables))
        at_once = MemoryIndex(site.database, view.index.generation)
        rows = {**view.rows, **at_once.read(_missed(world.stores, asked, view.rows))}
        if view.complete and _missed(world.stores, asked, rows):
            site.use(lambda sandbox: sandbox.region.require_whole(view, *tables))
    except errors.MemolithError:
        return
    counted: dict[str, str] = {}
    late: dict[str, str] = {}
    for key in keys:
        row = VersionRow.from_attributes(rows[key]) if key in rows else None
        if row is not None and row.position is not None:
            (late if key.sk.startswith(LATE_PREFIX) else counted)[row.version_id] = row.position
    world.history.claims.append(
        Claim(
            site.name,
            world.scheduler.tick(),
            dict(view.watermarks),
            frozenset(asked),
            counted,
            late,
            site.clock.highest_shown_us(),
            view.complete_until,
        )
    )


def _places_of(store_id: str, version_id: str) -> tuple[RowKey, RowKey]:
    return VersionRow.key(store_id, version_id), VersionRow.late_key(store_id, version_id)


def _missed(stores: Iterable[str], asked: Iterable[str], rows: Mapping[RowKey, Attributes]) -> list[RowKey]:
    """Return where the versions would be that a batch has in neither place of any store."""
    versions = list(asked)
    seen = {key.sk.removeprefix(LATE_PREFIX) for key, row in rows.items() if "position" in row}
    return [key for store in stores for id in versions if id not in seen for key in _places_of(store, id)]
