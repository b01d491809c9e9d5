"""What is asked of one memory: commands of callers, which can be passed on to a store's home, and the home's own.

A caller creates, updates and deletes. The home itself adopts a version that came late, and imports one from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from dataclasses import fields as fields_of
from typing import Any

from memolith.core.errors import Unavailable
from memolith.core.ids import derived_version_id
from memolith.core.limits import WRITE_ATTEMPTS
from memolith.core.objects.entry import Entry, Operation
from memolith.core.trust import IMPORTED


@dataclass(frozen=True, slots=True)
class CreateMemory:
    """A new memory at a free path. The ids were made where the call landed, and `trust` is its text's class there.

    `author` is the kind of author that the store's approval policy judges; None where no policy is to judge the write.
    """

    store_id: str
    memory_id: str
    version_id: str
    actor: str
    path: str
    content: str
    trust: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateMemory:
    """New content, a new path, or both; None leaves that side alone. The precondition speaks of the current content.

    `trust` is the class of what this caller writes; a text that is kept keeps its own. `expected_version_id` is the
    version that the head has to be, for a caller who has decided by its path, too. `author` as `CreateMemory`.
    `restored` says that the content is one that the memory had before.
    """

    store_id: str
    memory_id: str
    version_id: str
    actor: str
    content: str | None = None
    path: str | None = None
    expected_content_sha256: str | None = None
    trust: str | None = None
    expected_version_id: str | None = None
    author: str | None = None
    restored: bool = False


@dataclass(frozen=True, slots=True)
class DeleteMemory:
    """The end of a memory; its versions stay listable. `expected_version_id` and `author` as `UpdateMemory`."""

    store_id: str
    memory_id: str
    version_id: str
    actor: str
    expected_content_sha256: str | None = None
    trust: str | None = None
    expected_version_id: str | None = None
    author: str | None = None


Command = CreateMemory | UpdateMemory | DeleteMemory


_KINDS: dict[str, type[Command]] = {
    "memory.create": CreateMemory,
    "memory.update": UpdateMemory,
    "memory.delete": DeleteMemory,
}


_LEFT_OUT = {"author": None, "expected_version_id": None, "restored": False}


def to_payload(command: Command) -> dict[str, Any]:
    """Write a command in JSON's types, with its name under ``command``.

    What it does not say of an author, a version or a restored text is left out: a home of an earlier release takes it.
    """
    name = next(name for name, kind in _KINDS.items() if type(command) is kind)
    fields = asdict(command)
    return {"command": name, **{field: fields[field] for field in fields if fields[field] != _LEFT_OUT.get(field, ...)}}


def from_payload(payload: dict[str, Any]) -> Command:
    """Parse what `to_payload` made.

    Raises:
        KeyError, TypeError: a payload that no version of Memolith made.
        Unavailable: a command, or a field, of a newer release. What a field asks for cannot be passed over in a write.
    """
    fields = dict(payload)
    name = fields.pop("command")
    kind = _KINDS.get(name)
    if kind is None:
        raise _newer(f"the command {name!r}")
    return kind(**_known(kind, fields))


def _known(kind: type[Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = sorted(given.keys() - {field.name for field in fields_of(kind)})
    if unknown:
        raise _newer(f"the field {unknown[0]!r} of a write")
    return given


def _newer(what: str) -> Unavailable:
    return Unavailable(
        f"another region passed on {what}, which this release does not know; nothing was done",
        hint="deploy the same release in every region, the store's home first",
    )


@dataclass(frozen=True, slots=True)
class ImportedVersion:
    """One version of a history that is brought in from another store, with the ids, time and actor that it had there.

    Attributes:
        operation: ``created``, ``modified`` or ``deleted``.
        path, content: None once erased; a deletion has no content.
        created_at: microseconds since 1970.
        redacted_at, redacted_by: of a version that was redacted; one that retention erased has neither.
        withheld_rules, withheld_reason: of a text that was withheld where it comes from.
        trust: the letter of its class here, as the import allows it.
    """

    memory_id: str
    version_id: str
    operation: str
    actor: str
    created_at: int
    path: str | None = None
    content: str | None = None
    redacted_at: int | None = None
    redacted_by: str | None = None
    withheld_rules: tuple[str, ...] = ()
    withheld_reason: str | None = None
    trust: str | None = IMPORTED

    @property
    def blank(self) -> bool:
        """Whether its text was erased."""
        return self.redacted_at is not None or (self.content is None and self.operation != "deleted")

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> ImportedVersion:
        """Parse what `dataclasses.asdict` made, also after JSON. Raises as `from_payload` of a command."""
        return cls(**{**_known(cls, payload), "withheld_rules": tuple(payload["withheld_rules"])})


@dataclass(frozen=True, slots=True)
class AdoptVersion:
    """Commit `straggler`, a version that a former home wrote and that came late, again in the present epoch.

    It keeps its id, text, actor and time. `content` is its text; None for a deletion. `archived_since` is when the
    former home archived the store after it, if it did: that archiving does not keep it out.
    """

    straggler: Entry
    content: str | None
    archived_since: int | None = None

    @property
    def store_id(self) -> str:
        return self.straggler.key.store_id

    @property
    def memory_id(self) -> str:
        return self.straggler.memory_id

    @property
    def version_id(self) -> str:
        return self.straggler.version_id

    @property
    def actor(self) -> str:
        return str(self.straggler.created_by)


@dataclass(frozen=True, slots=True)
class ImportVersion:
    """Commit a version of a history from elsewhere after those of its memory that are here."""

    store_id: str
    version: ImportedVersion

    @property
    def memory_id(self) -> str:
        return self.version.memory_id

    @property
    def version_id(self) -> str:
        return self.version.version_id

    @property
    def actor(self) -> str:
        return self.version.actor


WriteCommand = Command | AdoptVersion | ImportVersion


def version_ids(command: WriteCommand) -> list[str]:
    """Return every id that the command's version may come to have: a rename has another one in each attempt."""
    match command:
        case UpdateMemory():
            may_move = command.path is not None
        case ImportVersion():
            # One without a path, too: it may have been imported before it was erased where it comes from.
            may_move = command.version.operation == Operation.MODIFIED
        case _:
            may_move = False
    return attempt_ids(command.version_id) if may_move else [command.version_id]


def attempt_ids(version_id: str) -> list[str]:
    """Return every id that a version of this planned id may come to have, whichever command writes it."""
    return [derived_version_id(version_id, attempt) for attempt in range(WRITE_ATTEMPTS)]


def is_emptying(command: WriteCommand) -> bool:
    """Return whether an update leaves nothing of a text of which its caller names the hash, and may know no more.

    A client that takes a null content for an empty text, as the SDK's sync client does, sends just this for a text that
    it was not shown. Neither a restored text is meant, nor what the home has decided by the head itself.
    """
    if not isinstance(command, UpdateMemory) or command.restored or command.expected_version_id is not None:
        return False
    return command.content == "" and command.expected_content_sha256 is not None


def is_deletion(command: WriteCommand) -> bool:
    """Return whether the command deletes a memory, which an archived store still allows."""
    match command:
        case AdoptVersion():
            return command.straggler.operation is Operation.DELETED
        case ImportVersion():
            return command.version.operation == Operation.DELETED
        case _:
            return isinstance(command, DeleteMemory)
