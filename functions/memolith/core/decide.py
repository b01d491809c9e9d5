"""What a command comes to, by what is known: a version to commit, nothing, a refusal, or first something else. Pure.

`decide` goes by the memory's head, `decide_path` by what stands at a path that is asked for, `decide_claim` and
`decide_neighbour` by the claims and memories beside it. Whoever carries a decision out is `memolith.app.commit.writer`.

What is known may be stale: a `Commit` is safe all the same, because the slot it is put into is only free if the head is
what it seemed; a refusal or a no-op is given to the caller only after that slot was found free.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

from memolith.core.commands import (
    AdoptVersion,
    CreateMemory,
    DeleteMemory,
    ImportVersion,
    UpdateMemory,
    WriteCommand,
    is_emptying,
)
from memolith.core.drafts import Draft
from memolith.core.errors import InvalidRequest, MemolithError, NotFound, PathConflict, PreconditionFailed
from memolith.core.fold import is_live
from memolith.core.ids import companion_id
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.objects.entry import Entry, Operation, kept_flags
from memolith.core.paths import path_hash
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.core.times import after


@dataclass(frozen=True, slots=True)
class Commit:
    """The next version: its operation, and where it will stand.

    Attributes:
        path: empty where it is not known: the texts that the memory had at it were erased.
        blank: its text was erased where it comes from.
        reserves: its memory is not listed at the path now, which has to be reserved before.
    """

    operation: Operation
    path: str
    content: str | None
    blank: bool = False
    reserves: bool = False


@dataclass(frozen=True, slots=True)
class NoChange:
    """What was asked for is so already."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Not to be done, and why."""

    error: MemolithError


@dataclass(frozen=True, slots=True)
class LeftApart:
    """A late version is not adopted: it stays divergent. An imported one waits: another memory has its head's path."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """The path is free, as far as is known: claim it, then look for neighbours, before anything is put there."""


@dataclass(frozen=True, slots=True)
class Break:
    """A claim has expired: take the slot that it names, so that its creator cannot put it any more."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody else is creating a memory here, or beside here: pause, and decide again."""


class CatchUp(Enum):
    """The index is behind the log; decide again once it has caught up.

    Attributes:
        ONWARD: fold what the log has after what the path's row knows.
        TAIL: the rows disagree, so that nothing says where to go on from: find the log's last entry, and fold that.
        LISTING: the listing's row is behind the memory's own; nothing to fold.
    """

    ONWARD = "onward"
    TAIL = "tail"
    LISTING = "listing"


class Look(Enum):
    """A fact that the decision needs and that nobody has read yet.

    Attributes:
        HEAD: the memory's row.
        HIDDEN: whether the head's text may have been kept from the caller.
        LINEAGE: whether the head is what a late version builds on.
        SUCCESSOR: whether the path of an erased head has another memory by now.
    """

    HEAD = "head"
    HIDDEN = "hidden"
    LINEAGE = "lineage"
    SUCCESSOR = "successor"


class Unread(Enum):
    """Stands in `Facts` for a row that nobody has read, as None stands for one that is not there."""

    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Facts:
    """What one attempt at a command knows of its memory.

    Attributes:
        salt: the store's, for the hashes of paths.
        head: the memory's row.
        builds_on: whether a late version's parent is the head, but for erased versions between them. None: not known.
        succeeded: whether another memory stands at the path of the head, which was erased. None: not known.
        hidden: why the caller may have been given the hash of the head's text without the text; None if not.
    """

    salt: bytes
    head: MemoryRow | Unread | None = Unread.UNREAD
    builds_on: bool | None = None
    succeeded: bool | None = None
    hidden: MemolithError | Unread | None = Unread.UNREAD


Decision = Commit | NoChange | Refused | LeftApart


def decide(facts: Facts, command: WriteCommand) -> Decision | Look:
    """Return what the command comes to, or which fact has to be read first. A creation asks for none of them."""
    if isinstance(command, CreateMemory):
        return Commit(Operation.CREATED, command.path, command.content)
    if isinstance(facts.head, Unread):
        return Look.HEAD
    match command:
        case UpdateMemory():
            return decide_update(facts.head, command, facts.hidden)
        case DeleteMemory():
            return decide_delete(facts.head, command)
        case AdoptVersion():
            return decide_adoption(facts.head, facts, command)
        case ImportVersion():
            return decide_import(facts.head, facts, command)


def sha256_hex(content: str) -> str:
    """Return the API's content_sha256: lower-case hex over the UTF-8 bytes, without normalisation."""
    return hashlib.sha256(content.encode()).hexdigest()


def decide_update(
    head: MemoryRow | None, command: UpdateMemory, hidden: MemolithError | Unread | None = Unread.UNREAD
) -> Decision | Look:
    """Decide an update. Equal content and path is no change, even if the precondition names an older content.

    Source: docs/api-compatibility.md §1.7.
    """
    if head is None or not is_live(head) or head.memory_id != command.memory_id or head.path is None:
        return Refused(NotFound("memory", command.memory_id))
    same_content = command.content is None or sha256_hex(command.content) == head.content_sha256
    same_path = command.path is None or command.path == head.path
    if same_content and same_path:
        return NoChange()
    if not _expected(head, command):
        return Refused(PreconditionFailed())
    if is_emptying(command) and hidden is not None:
        return Look.HIDDEN if isinstance(hidden, Unread) else Refused(hidden)
    if same_path:
        return Commit(Operation.MODIFIED, head.path, command.content)
    return Commit(Operation.MOVED_IN, command.path or head.path, command.content)


def decide_delete(head: MemoryRow | None, command: DeleteMemory) -> Decision:
    """Decide a deletion. It is never a no-op: a memory that is already deleted is not found."""
    if head is None or not is_live(head) or head.memory_id != command.memory_id or head.path is None:
        return Refused(NotFound("memory", command.memory_id))
    if not _expected(head, command):
        return Refused(PreconditionFailed())
    return Commit(Operation.DELETED, head.path, None)


def _expected(head: MemoryRow, command: UpdateMemory | DeleteMemory) -> bool:
    """Tell whether the head has the text, and is the version, that the command rests on, where it names them."""
    if command.expected_version_id not in (None, head.version_id):
        return False
    return command.expected_content_sha256 in (None, head.content_sha256)


def decide_adoption(head: MemoryRow | None, facts: Facts, command: AdoptVersion) -> Decision | Look:
    """Adopt a late version where nobody has written since: its parent is the head, or was before erased ones.

    A creation is adopted where there is no such memory; that its path is free is decided like any creation's, and that
    no other memory has been in its way since by `late_creation`. A text over a head that was erased lists the memory at
    its path again, where that is free.
    """
    straggler = command.straggler
    if straggler.operation not in ADOPTABLE:
        return LeftApart()
    if head is None:
        is_first = straggler.operation is Operation.CREATED
        return Commit(Operation.CREATED, straggler.path or "", command.content or "") if is_first else LeftApart()
    if straggler.operation is Operation.CREATED or head.gone or head.path_hash != straggler.key.path_hash:
        return LeftApart()
    if facts.builds_on is None:
        return Look.LINEAGE
    if not facts.builds_on:
        return LeftApart()
    if head.path is None and facts.succeeded is not False:
        return LeftApart() if facts.succeeded else Look.SUCCESSOR
    comes_back = command.content is not None and head.path is None
    return Commit(straggler.operation, straggler.path or head.path or "", command.content, reserves=comes_back)


ADOPTABLE = (Operation.CREATED, Operation.MODIFIED, Operation.DELETED)
"""A rename is left apart: its two halves were one commit, and half of it may have been built on."""


def decide_import(head: MemoryRow | None, facts: Facts, command: ImportVersion) -> Decision | Look:
    """Put a version of a history after those that are here, at the path that it had.

    Of a history whose beginning is not known, the first version that is creates the memory. A text after an erased
    version lists the memory at its path again, which others may claim by now. A deletion keeps a path only if that is
    its head's log's. What leaves an erased head's path waits while another memory is there: it would unlist that one.
    """
    version, is_end = command.version, command.version.operation == Operation.DELETED
    if head is None:
        if is_end:
            return Refused(InvalidRequest("versions", "a history cannot begin with a deletion"))
        path, content = ("", "") if version.blank else (version.path or "", version.content or "")
        return Commit(Operation.CREATED, path, content, version.blank)
    if head.gone:
        return Refused(NotFound("memory", version.memory_id))
    path = version.path or head.path or ""
    is_elsewhere = version.path is not None and path_hash(facts.salt, path) != head.path_hash
    leaves = is_end or (is_elsewhere and not version.blank)
    if leaves and head.path is None and facts.succeeded is not False:
        return LeftApart() if facts.succeeded else Look.SUCCESSOR
    if is_end:
        return Commit(Operation.DELETED, (head.path or "") if is_elsewhere else path, None, version.blank)
    if leaves:
        return Commit(Operation.MOVED_IN, path, version.content)
    comes_back = version.content is not None and not is_live(head)
    return Commit(Operation.MODIFIED, path, version.content, version.blank and not comes_back, comes_back)


# ---- paths ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """What the index knows of a path that is asked for.

    Attributes:
        occupant: the memory that came last to the path, and has not left, by the row of the path's log.
        holder: that memory's own row.
    """

    path: str
    path_hash: str
    occupant: str | None = None
    holder: MemoryRow | None = None


def decide_path(place: Place, moving_id: str | None = None) -> Reserve | Refused | CatchUp:
    """Return whether a memory may come to the path: a new one, or `moving_id` from another path.

    A path is free whose holder was erased there: a home that was lost redacted its last version, with all that followed
    it gone. A refusal names the holder, and holds only while the log has nothing after the holder's head.
    """
    if place.occupant is None:
        return Reserve()
    if place.occupant == moving_id:
        return CatchUp.ONWARD
    holder = place.holder
    if holder is None or holder.gone or holder.path_hash != place.path_hash:
        return CatchUp.TAIL
    return Reserve() if holder.path is None else Refused(PathConflict(place.path, place.occupant))


def decide_claim(row: PathRow | None, *, is_expired: bool) -> Reserve | Break | Wait:
    """Return whether a path may be claimed whose row in the listing is `row`. A claim that stands is never replaced."""
    if row is None or row.claim_id is None:
        return Reserve()
    return Break() if is_expired else Wait()


def decide_neighbour(
    neighbour: PathRow, resident: MemoryRow | None, *, is_expired: bool
) -> Refused | Break | Wait | CatchUp:
    """Return what an ancestor or a descendant means for a claim, which is withdrawn in any case.

    `resident` is the row of the memory that is listed there. A live one refuses, while the log has nothing after its
    head; of a claim alone, whoever came second waits, or breaks it once it has expired.
    """
    if neighbour.memory_id is not None:
        if resident is None or not is_live(resident) or resident.path != neighbour.path:
            return CatchUp.LISTING
        return Refused(PathConflict(neighbour.path, neighbour.memory_id))
    return Break() if is_expired else Wait()


# ---- entries --------------------------------------------------------------------------------------------------------


def created(draft: Draft, key: LogKey, path: str, content: str) -> Entry:
    """Make the entry of a memory's first version."""
    return Entry(
        key=key,
        operation=Operation.CREATED,
        version_id=draft.version_id,
        memory_id=draft.memory_id,
        generation=1,
        arrived=key.slot,
        path=path,
        content_sha256=sha256_hex(content),
        content_size_bytes=len(content.encode()),
        created_at=draft.now_us,
        memory_created_at=draft.now_us,
        created_by=draft.actor,
        flags=draft.flags,
        imported=draft.imported,
        adopts=draft.adopts,
        trust=draft.trust,
    )


def follows(draft: Draft, head: MemoryRow, key: LogKey, commit: Commit, source: Slot | None = None) -> Entry:
    """Make the version after `head`: modified or deleted at its path, or moved in at another from the `source` slot.

    One that reserves its path again comes to it again: others may have come and gone since the memory was there.
    """
    moved = commit.operation is Operation.MOVED_IN
    sha256, size = head.content_sha256, head.content_size_bytes
    if commit.content is not None:
        sha256, size = sha256_hex(commit.content), len(commit.content.encode())
    if commit.operation is Operation.DELETED:
        sha256, size = None, None
    kept = commit.content is None and commit.operation is Operation.MOVED_IN
    flags = kept_flags((*(head.flags or ()), *draft.flags)) if kept else draft.flags
    return Entry(
        key=key,
        operation=commit.operation,
        version_id=draft.version_id,
        memory_id=head.memory_id,
        generation=head.generation + 1,
        arrived=key.slot if moved or commit.reserves else Slot.parse(head.arrived),
        parent_version_id=head.version_id,
        path=commit.path or None,
        content_sha256=sha256,
        content_size_bytes=size,
        created_at=after(draft.now_us, head.updated_at),
        memory_created_at=head.created_at,
        created_by=draft.actor,
        source=LogRef(head.path_hash, source) if source else None,
        flags=flags,
        imported=draft.imported,
        adopts=draft.adopts,
        trust=draft.trust_after(head.trust, kept),
    )


def moved_out(moved_in: Entry) -> Entry:
    """Make the entry that commits a rename. Every writer makes the same one, so a helper's equals the mover's own.

    It carries no path: the source's log and the `moved_in` have them, and every copy would have to be erased too.
    """
    if moved_in.source is None:
        raise ValueError("a moved_in names its source")
    return Entry(
        key=moved_in.source.key_in(moved_in.key.store_id),
        operation=Operation.MOVED_OUT,
        version_id=companion_id(moved_in.version_id),
        memory_id=moved_in.memory_id,
        generation=moved_in.generation,
        parent_version_id=moved_in.parent_version_id,
        created_at=moved_in.created_at,
        memory_created_at=moved_in.memory_created_at,
        created_by=moved_in.created_by,
        destination=moved_in.ref,
        moved_version_id=moved_in.version_id,
    )


def void(key: LogKey, version_id: str, now_us: int) -> Entry:
    """Make an abort entry: it means nothing but that its slot is taken."""
    return Entry(key=key, operation=Operation.VOID, version_id=version_id, created_at=now_us)
