"""The record of a store: its settings, its state, its home and its epochs. One object for each version of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from memolith.core.log_position import Epoch
from memolith.core.objects.schema import SCHEMA, _load, known

SCAN_POLICY_DEFAULT = "standard"
SCAN_SECRETS_DEFAULT = "refuse"


class StoreState(StrEnum):
    """Who may write: the home (`active`); no region, while its term ends or begins; none any more (`deleted`).

    A store that was deleted and can still be restored keeps its state, so that its home can move and fail over as any
    other's; `StoreRecord.erase_after` says that it is deleted. `deleted` is final: from then on it is erased.
    `moving` is put by the old home of a planned move, and by the new one of a fail-over until its cut stands; `moved`
    is a planned move's commit: the last record of an old home, from which the new one's first follows.
    """

    ACTIVE = "active"
    MOVING = "moving"
    MOVED = "moved"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """One version of a store's own record; the JSON body of its object.

    `home` and `epochs` say where its logs are written: `epochs` is the accepted chain, oldest first, this one included.
    `scan_policy` and `scan_allow` say how its writes are scanned (`memolith.scanner.Policy`, ids of rules); the body
    leaves them out where they are the default. `scan_secrets` says what becomes of a write with a secret in it
    (`memolith.scanner.Secrets`); likewise.
    `retention_days`, `retention_versions` and `transcript_days` are None, and not in the body, where they are
    (`memolith.core.retention`, `memolith.core.transcripts`).
    `second_region` is where a write must stand too before it is acknowledged (`memolith.core.sync_replica`); None, and
    not in the body, where its home is enough.
    `cuts` names the cut that each epoch after the first began with; while a fail-over makes its own, one is missing.
    `moving_to` is where a planned move goes; `follows` the slot of the record that an epoch's first was made from.
    `adopted` names the late records of older homes that were taken up, and `apart` those that were not
    (`core.late_records`). The body leaves these five out where there is nothing to say.
    `approval` is its approval policy as JSON (`memolith.core.approval`); None, and not in the body, where all write.
    `pipelines` is its pipelines policy as JSON (`memolith.core.pipelines.policy`); None, and not in the body, where it
    is the default.
    `erase_after` is, of a deleted store that can still be restored, when its home may make the deletion final
    (microseconds since 1970, by the home's clock); None, and not in the body, of any other. It was worked out when the
    store was deleted, so that a later change of the delay does not matter. `first_erase_after` is, of a deletion that
    a lost home had acknowledged and a later home took up, what its own record said, by which a late restoration knows
    it; None, and not in the body, of any other.
    """

    store_id: str
    workspace_id: str
    name: str
    description: str
    metadata: Mapping[str, str]
    salt: str
    home: str
    epochs: tuple[str, ...]
    created_at: int
    updated_at: int
    created_by: str
    version_id: str
    state: StoreState = StoreState.ACTIVE
    archived_at: int | None = None
    scan_policy: str = SCAN_POLICY_DEFAULT
    scan_allow: tuple[str, ...] = ()
    scan_secrets: str = SCAN_SECRETS_DEFAULT
    retention_days: int | None = None
    retention_versions: int | None = None
    transcript_days: int | None = None
    second_region: str | None = None
    cuts: tuple[str, ...] = ()
    moving_to: str | None = None
    follows: str | None = None
    adopted: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    erase_after: int | None = None
    approval: str | None = None
    pipelines: str | None = None
    first_erase_after: int | None = None

    @property
    def deletion(self) -> int | None:
        """Which deletion can still be undone, by the `erase_after` of the record that made it; None if there is none.

        Every home that takes it up names the same, whatever delay it then allows.
        """
        return self.first_erase_after or self.erase_after

    @property
    def is_deleted(self) -> bool:
        """Whether no call finds the store any more; it may be waiting for its erasure, and be restored."""
        return self.state is StoreState.DELETED or self.erase_after is not None

    @property
    def has_text(self) -> bool:
        """Whether it holds anything of the store's own that a deletion erases."""
        return bool(self.name or self.description or self.metadata or self.salt)

    def blanked(self) -> StoreRecord:
        """Return what stays of it once its store is deleted: ids, places, times, actors; no name, text or salt."""
        return replace(self, name="", description="", metadata={}, salt="")

    def to_json(self) -> bytes:
        fields = {"schema": SCHEMA, **asdict(self)}
        if (self.scan_policy, self.scan_allow) == (SCAN_POLICY_DEFAULT, ()):
            del fields["scan_policy"], fields["scan_allow"]
        if self.scan_secrets == SCAN_SECRETS_DEFAULT:
            del fields["scan_secrets"]
        for name in (
            "retention_days",
            "retention_versions",
            "transcript_days",
            "second_region",
            "erase_after",
            "first_erase_after",
            "approval",
            "pipelines",
        ):
            if fields[name] is None:
                del fields[name]
        for name in ("cuts", "moving_to", "follows", "adopted", "apart"):
            if not fields[name]:
                del fields[name]
        return json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> StoreRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            names = ("epochs", "scan_allow", "cuts", "adopted", "apart")
            lists = {"epochs": fields["epochs"]} | {name: tuple(fields.get(name, ())) for name in names}
            return cls(**{**known(cls, fields), **lists, "state": StoreState(fields["state"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a store's record cannot be read ({error})") from error

    @property
    def epoch(self) -> Epoch:
        """The term in which its logs are written now."""
        return parse_epoch(self.epochs[-1])

    def withdrawn(self, at_us: int, delay_us: int) -> StoreRecord:
        """Make the record that deletes the store: no call finds it, and all of it is kept until it is erased.

        Without a delay it is the final one, `ended`.
        """
        if delay_us <= 0:
            return self.ended(at_us)
        return replace(self, updated_at=at_us, erase_after=at_us + delay_us)

    def withdrawn_late(self, late: StoreRecord, at_us: int) -> StoreRecord:
        """Make the record that takes up a late deletion: the store can be restored for as long as if deleted now."""
        if late.erase_after is None:
            return self
        erase_after = max(late.erase_after, at_us + late.erase_after - late.updated_at)
        return replace(self, updated_at=at_us, erase_after=erase_after, first_erase_after=late.deletion)

    def restored(self, at_us: int) -> StoreRecord:
        """Make the record that brings a deleted store back as it was."""
        return replace(self, updated_at=at_us, erase_after=None, first_erase_after=None)

    def may_end(self, home: str, now_us: int) -> bool:
        """Tell whether `home` may make a deletion final now: it is the store's home, and the time is over.

        While the home is moving, nobody may: the new home will.
        """
        due = self.erase_after is not None and self.erase_after <= now_us
        return due and self.state is StoreState.ACTIVE and self.home == home

    def ended(self, at_us: int) -> StoreRecord:
        """Make the record that ends the store for good: from then on it is erased, and nothing of its own is kept."""
        return replace(
            self,
            name="",
            description="",
            metadata={},
            salt="",
            scan_allow=(),
            state=StoreState.DELETED,
            updated_at=at_us,
            erase_after=None,
            first_erase_after=None,
        )

    def begun(self) -> StoreRecord:
        """Make the first record of the home that a `moved` record names; every writer makes the same one."""
        return replace(self, state=StoreState.ACTIVE, moving_to=None)


def parse_epoch(text: str) -> Epoch:
    return Epoch.parse(text)
