"""Drafts: what every entry of one write shares, from the command and the clock. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.commands import AdoptVersion, ImportVersion, UpdateMemory, WriteCommand
from memolith.core.log_position import Slot
from memolith.core.objects.entry import Actor
from memolith.core.trust import after_update


@dataclass(frozen=True, slots=True)
class Draft:
    """What every entry of one write shares.

    `trust` is the class of the text that is written. Where the text `replaces` the head's, that class counts too.
    """

    version_id: str
    memory_id: str
    actor: Actor
    now_us: int
    flags: tuple[str, ...] = ()
    imported: bool = False
    adopts: Slot | None = None
    trust: str | None = None
    replaces: bool = False

    def trust_after(self, replaced: str | None, kept: bool) -> str | None:
        """Return the class of the version after one of class `replaced`, whose text may be `kept` by a rename."""
        if kept:
            return replaced
        return after_update(self.trust, replaced) if self.replaces else self.trust


def draft_of(command: WriteCommand, now_us: int, flags: tuple[str, ...], version_id: str | None = None) -> Draft:
    """Return the draft of a command's entries. What is adopted or imported keeps the time that it had."""
    actor, version_id = Actor.parse(command.actor), version_id or command.version_id
    match command:
        case AdoptVersion():
            straggler = command.straggler
            return Draft(
                version_id,
                straggler.memory_id,
                actor,
                straggler.created_at,
                flags,
                straggler.imported,
                straggler.slot,
                straggler.trust,
            )
        case ImportVersion():
            version = command.version
            return Draft(
                version_id,
                command.memory_id,
                actor,
                version.created_at,
                flags,
                imported=True,
                trust=version.trust,
                replaces=True,
            )
        case _:
            replaces = isinstance(command, UpdateMemory)
            return Draft(version_id, command.memory_id, actor, now_us, flags, trust=command.trust, replaces=replaces)
