"""What an audit answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from memolith.app.operations.named_objects import Compared
from memolith.core.audit import Finding


@dataclass(slots=True)
class AuditReport:
    """What one audit of one home saw.

    Attributes:
        since, until: the periods that were read.
        signed_until: the last period that a signature covers; None where none does. What comes after proves nothing.
        sealed_until_us: everything that was acknowledged before that instant is sealed, and a signature covers it; None
            where nothing is.
        looked_at, unsealed, erased: of the named objects, how many there are, whose digest is not known, and whose text
            was erased by an order, by retention or with its store.
        pending: acknowledged, and not in a checkpoint yet.
        unsigned: how many checkpoints after `signed_until` name something.
        findings: what is wrong, in the order of the periods; empty for an intact home.
    """

    home: str
    since: int
    until: int = 0
    signed_until: int | None = None
    sealed_until_us: int | None = None
    looked_at: int = 0
    unsealed: int = 0
    erased: int = 0
    pending: int = 0
    unsigned: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """Whether nothing is wrong with what was read."""
        return not self.findings

    def add(self, seen: Compared) -> None:
        """Add what comparing objects with their names showed; what is `broken`, only `classify` makes a finding."""
        self.looked_at += seen.looked_at
        self.unsealed += seen.unsealed
        self.erased += seen.erased
        self.findings += seen.findings
