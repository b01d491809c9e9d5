"""One record of a dream: the newest of its log is its whole state."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from memolith.core.object_keys import RunKey
from memolith.core.objects.schema import SCHEMA, _load, known


class DreamStatus(StrEnum):
    """Where a dream is in its life; the last three are final."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def is_open(self) -> bool:
        """Whether it may still change."""
        return self in (DreamStatus.PENDING, DreamStatus.RUNNING)


CREATE_NEW = "create_new"
UPDATE_EXISTING = "update_existing"
PROPOSE = "propose"

SCHEDULED = "service_account:schedule"
"""Who begins what a store's own policy asks for."""

ANY_SCHEDULED = frozenset({SCHEDULED, "pipeline:schedule"})
"""That, and what earlier releases recorded."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One record of a run's log, and with it the whole state of its dream; the JSON body of its object.

    It holds no text of a memory or a session: what a dream wrote is in the versions that its session made.

    Attributes:
        store_id: the store that is read.
        run_id: the dream's id.
        sequence: from 1.
        model, speed, session_ids, instructions, behavior: as asked for.
        output_store_id: the store that is written.
        key_ids: the API keys that the dream's session comes from.
        session_id: the session that reads and writes for the dream.
        input_tokens … cache_read_input_tokens: what the model used.
        cost_micro_usd: what that cost; None where a price is not known.
        model_answered: as the service named the model; empty until it answered.
        prompt_sha256: of the prompt that was used.
        copied: whether a new output has everything of the input.
        asks: how often the model was asked.
        created, changed, deleted: memories that the dream made, changed and deleted.
        conflicts: edits that were left out because a memory had changed.
        dropped: edits that were left out, by reason.
        proposal_id: the proposal that has its edits, where it proposes them and there are any.
        sources: of each memory that the dream wrote, by its id, what the edit rests on: ids of versions and of notes.
        home: the region that put the record; empty in those of releases that had dreams in one region only.
        epoch: the number of the store's epoch in which it was put; 0 in those of releases that did not note it.
        claim: the token of the worker's claim on the store's job; empty in a caller's records.
    """

    workspace_id: str
    store_id: str
    run_id: str
    sequence: int
    status: DreamStatus
    created_at: int
    created_by: str
    model: str
    behavior: str
    output_store_id: str
    session_id: str
    session_ids: tuple[str, ...] = ()
    key_ids: tuple[str, ...] = ()
    speed: str | None = None
    instructions: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    archived_at: int | None = None
    error_type: str | None = None
    error_message: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cost_micro_usd: int | None = None
    model_answered: str = ""
    prompt_sha256: str = ""
    copied: bool = False
    asks: int = 0
    created: int = 0
    changed: int = 0
    deleted: int = 0
    conflicts: int = 0
    dropped: tuple[str, ...] = ()
    proposal_id: str | None = None
    home: str = ""
    epoch: int = 0
    claim: str = ""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def key(self, home: str) -> RunKey:
        """Return the key under which `home` puts it."""
        return RunKey(home, self.store_id, self.run_id, self.sequence)

    @property
    def has_text(self) -> bool:
        """Whether it holds anything that an erasure takes away."""
        return self.instructions is not None or bool(self.sources)

    def blanked(self) -> RunRecord:
        """Return what stays of it once its store is erased; and what rows have of it."""
        return replace(self, instructions=None, sources={})

    def naming(self, sessions: Collection[str]) -> RunRecord:
        """Return what it is for a caller who may know of these sessions alone: the others' ids are left out."""
        hidden = set(self.session_ids).difference(sessions)
        message = self.error_message
        for one in hidden:
            message = message and message.replace(one, "[not shown]")
        return replace(
            self,
            session_ids=tuple(one for one in self.session_ids if one not in hidden),
            error_message=message,
            sources={
                memory_id: tuple(one for one in found if one.partition(".")[0] not in hidden)
                for memory_id, found in self.sources.items()
            },
        )

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> RunRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = known(cls, _load(body))
        try:
            lists = {name: tuple(fields.get(name, ())) for name in ("session_ids", "key_ids", "dropped")}
            sources = {memory_id: tuple(ids) for memory_id, ids in fields.get("sources", {}).items()}
            return cls(**{**fields, **lists, "sources": sources, "status": DreamStatus(fields["status"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a dream's record cannot be read ({error})") from error
