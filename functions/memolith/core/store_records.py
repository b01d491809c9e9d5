"""A store's record in its slot, and the row that is made of it and leads back to it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from memolith.core.log_position import Slot
from memolith.core.objects.store_record import SCAN_POLICY_DEFAULT, SCAN_SECRETS_DEFAULT, StoreRecord, StoreState
from memolith.core.rows.identity import StoreRow

MOVER = "service_account:mover"
"""Who puts the records by which a home changes."""


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A record and the slot it stands in."""

    slot: Slot
    record: StoreRecord


def to_row(placed: PlacedRecord) -> StoreRow:
    """Return the row of a record. A deleted store keeps its place, so that nothing older comes back, and no text."""
    fields = asdict(placed.record)
    del fields["created_by"]
    if placed.record.state is StoreState.DELETED:
        fields |= {"name": "", "description": "", "metadata": {}, "salt": "", "scan_policy": "", "scan_allow": ()}
        fields["scan_secrets"] = SCAN_SECRETS_DEFAULT
    return StoreRow(
        **{
            **fields,
            "slot": str(placed.slot),
            "epochs": list(placed.record.epochs),
            "cuts": list(placed.record.cuts) or None,
            "adopted": list(placed.record.adopted) or None,
            "apart": list(placed.record.apart) or None,
            "state": placed.record.state.value,
            "metadata": dict(fields["metadata"]),
            "scan_policy": None if fields["scan_policy"] in ("", SCAN_POLICY_DEFAULT) else fields["scan_policy"],
            "scan_allow": list(fields["scan_allow"]) or None,
            "scan_secrets": None if fields["scan_secrets"] == SCAN_SECRETS_DEFAULT else fields["scan_secrets"],
        }
    )


def to_record(row: StoreRow, created_by: str) -> StoreRecord:
    """Return the record that a row came from, to be changed into the next one."""
    fields = {name: value for name, value in asdict(row).items() if name != "slot"}
    return StoreRecord(
        **{
            **fields,
            "epochs": tuple(row.epochs),
            "cuts": tuple(row.cuts or ()),
            "adopted": tuple(row.adopted or ()),
            "apart": tuple(row.apart or ()),
            "state": StoreState(row.state),
            "created_by": created_by,
            "scan_policy": row.scan_policy or SCAN_POLICY_DEFAULT,
            "scan_allow": tuple(row.scan_allow or ()),
            "scan_secrets": row.scan_secrets or SCAN_SECRETS_DEFAULT,
        }
    )
