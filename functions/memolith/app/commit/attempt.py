"""One command on its way through the commit loop, and what became of it; also as JSON, for another region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from memolith.app.kernel.peer_messages import decode_error, decode_resolved, encode_error, encode_resolved
from memolith.app.kernel.region import View
from memolith.core.errors import MemolithError
from memolith.core.log_position import LogKey
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.scanner import RedactedSecret


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON."""
    return {
        "memory": None if outcome.memory is None else asdict(outcome.memory),
        "refusal": None if outcome.error is None else encode_error(outcome.error),
        "settled": encode_resolved(outcome.resolved),
        "redacted": [asdict(secret) for secret in outcome.redacted],
    }


def decode_outcome(payload: Mapping[str, Any]) -> Outcome:
    """Parse what `encode_outcome` made."""
    memory, refusal = payload["memory"], payload["refusal"]
    return Outcome(
        memory=None if memory is None else MemoryRow.from_attributes(memory),
        error=None if refusal is None else decode_error(refusal),
        resolved=decode_resolved(payload["settled"]),
        redacted=tuple(RedactedSecret(**secret) for secret in payload.get("redacted", ())),
    )


@dataclass(slots=True)
class Outcome:
    """What became of a command, and every entry that was put or met on the way, for whoever passed it on to fold.

    `memory` is the head after it (for a deletion, the tombstone's row); `error` is set for a refusal, and `memory` is
    then the head that it was decided against, where there is one. `redacted` was taken out of the command's text.
    """

    memory: MemoryRow | None = None
    error: MemolithError | None = None
    resolved: list[ResolvedEntry] = field(default_factory=list)
    redacted: tuple[RedactedSecret, ...] = ()


class Step(Enum):
    """What one step of the commit loop came to.

    Attributes:
        DECIDED: the attempt's outcome is the command's answer.
        AGAIN: the step learned something that the decision did not know; the command is decided again.
        CLEAR: nothing stands in the way; the next step may go on.
    """

    DECIDED = "decided"
    AGAIN = "again"
    CLEAR = "clear"


@dataclass(slots=True)
class Attempt:
    """One command on its way through the loop.

    `passed_on_us` is set for a call that another copy may be carrying out too: when its first rows were about to be
    read, by the clock. `own` are the ids that the command's version may come to have, and `done` is the row of
    one of them that was found to stand already. `met` has for each entry that was met the memory whose head it
    changed: none for a void, and for what does not count.
    """

    view: View
    store: StoreRow
    outcome: Outcome
    flags: tuple[str, ...] = ()
    passed_on_us: int | None = None
    number: int = 0
    own: tuple[str, ...] = ()
    done: VersionRow | None = None
    claimed: dict[RowKey, Attributes | None] = field(default_factory=dict)
    met: dict[LogKey, str | None] = field(default_factory=dict)
