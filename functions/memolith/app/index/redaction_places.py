"""Where the text of a redacted version is: every object that an order, or a row since, names."""

from __future__ import annotations

from memolith.app.kernel.region import Region, View
from memolith.core.log_position import LogKey, LogRef
from memolith.core.objects.redaction_order import Redaction
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import VersionRow


def places_of(region: Region, view: View, order: Redaction) -> tuple[VersionRow | None, list[LogKey]]:
    """Return the version's row and every object in which the order and the rows say that its text stands. One read.

    Call it after the order was folded. The writer that replays the version projects the copy and then looks at the same
    row for an order: one of the two sees the other, so that no copy is left at a place which neither of them erases.
    """
    store_id, version_id = order.store_id, order.version_id
    keys: list[RowKey] = [VersionRow.key(store_id, version_id), VersionRow.late_key(store_id, version_id)]
    found = region.read(view.index, keys)
    rows = [VersionRow.from_attributes(found[key]) for key in keys if key in found]
    refs = {order.ref, *(LogRef.parse(row.position) for row in rows if row.position is not None)}
    version = VersionRow.from_attributes(found[keys[0]]) if keys[0] in found else None
    return version, sorted((ref.key_in(store_id) for ref in refs), key=str)
