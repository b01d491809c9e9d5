"""What a command does to a head: commit, nothing, or a refusal. Pure.

The head may be stale: a `Commit` is safe all the same, because the slot it is put into is only free if the head is
what it seemed; a refusal or a no-op is given to the caller only after that slot was found free
(`memolith.app.commit.writer`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from memolith.core.commands import DeleteMemory, UpdateMemory
from memolith.core.errors import MemolithError, NotFound, PreconditionFailed
from memolith.core.fold import is_live
from memolith.core.ids import companion_id
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.objects.entry import Actor, Entry, Operation, kept_flags
from memolith.core.rows.content import MemoryRow
from memolith.core.times import after


@dataclass(frozen=True, slots=True)
class Commit:
    """The next version: its operation, and where it will stand."""

    operation: Operation
    path: str
    content: str | None


@dataclass(frozen=True, slots=True)
class NoChange:
    """What was asked for is so already."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Not to be done, and why."""

    error: MemolithError


Decision = Commit | NoChange | Refused


def sha256_hex(content: str) -> str:
    """Return the API's content_sha256: lower-case hex over the UTF-8 bytes, without normalisation."""
    return hashlib.sha256(content.encode()).hexdigest()


def decide_update(head: MemoryRow | None, command: UpdateMemory) -> Decision:
    """Decide an update. Equal content and path is no change, even if the precondition names an older content.

    Source: docs/api-compatibility.md §1.7.
    """
    if head is None or not is_live(head) or head.memory_id != command.memory_id or head.path is None:
        return Refused(NotFound("memory", command.memory_id))
    same_content = command.content is None or sha256_hex(command.content) == head.content_sha256
    same_path = command.path is None or command.path == head.path
    if same_content and same_path:
        return NoChange()
    if not _expected(head, command.expected_content_sha256):
        return Refused(PreconditionFailed())
    if same_path:
        return Commit(Operation.MODIFIED, head.path, command.content)
    return Commit(Operation.MOVED_IN, command.path or head.path, command.content)


def decide_delete(head: MemoryRow | None, command: DeleteMemory) -> Decision:
    """Decide a deletion. It is never a no-op: a memory that is already deleted is not found."""
    if head is None or not is_live(head) or head.memory_id != command.memory_id or head.path is None:
        return Refused(NotFound("memory", command.memory_id))
    if not _expected(head, command.expected_content_sha256):
        return Refused(PreconditionFailed())
    return Commit(Operation.DELETED, head.path, None)


def _expected(head: MemoryRow, expected: str | None) -> bool:
    return expected is None or expected == head.content_sha256


@dataclass(frozen=True, slots=True)
class Draft:
    """What every entry of one write shares."""

    version_id: str
    memory_id: str
    actor: Actor
    now_us: int
    flags: tuple[str, ...] = ()
    imported: bool = False
    adopts: Slot | None = None


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
    )


def follows(draft: Draft, head: MemoryRow, key: LogKey, commit: Commit, source: Slot | None = None) -> Entry:
    """Make the version after `head`: modified or deleted at its path, or moved in at another from the `source` slot."""
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
        arrived=key.slot if moved else Slot.parse(head.arrived),
        parent_version_id=head.version_id,
        path=commit.path,
        content_sha256=sha256,
        content_size_bytes=size,
        created_at=after(draft.now_us, head.updated_at),
        memory_created_at=head.created_at,
        created_by=draft.actor,
        source=LogRef(head.path_hash, source) if source else None,
        flags=flags,
        imported=draft.imported,
        adopts=draft.adopts,
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
