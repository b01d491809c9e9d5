"""What can go wrong, named by what the caller must do about it.

    MemolithError
    ├── InvalidRequest        mend the request; names the field and the rule
    ├── Unauthenticated       present a key that is valid
    ├── PermissionDenied      present a key with a wider scope
    ├── RateLimited           wait for as long as it says
    ├── NotFound              nothing of that id is here for this caller
    ├── PathConflict          choose another path, or edit the memory that holds this one
    ├── PreconditionFailed    read again, then decide again
    ├── NeedsApproval         open it as a proposal; the use case does, so that no caller of the API sees it
    ├── Conflict              see what stands in the way: another of its kind is under way, or it was decided already
    ├── SnapshotIncomplete    ask again later, or another region: this one does not have all of that moment yet
    ├── BudgetExhausted       no model was asked; wait for as long as it says
    ├── Busy                  nothing was done; the same call may be made again
    ├── Unavailable           nothing was done; this region cannot answer yet
    │   └── Damaged           what is stored is not what was acknowledged; repair it: repeating does not help
    └── OutcomeUnknown        it may have been done; read before calling again

`memolith.wire.errors` maps each of them, in one table, to HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memolith.core.times import rfc3339


class MemolithError(Exception):
    """Base of every error that a caller is meant to see. ``message`` carries no content, secret or foreign id.

    Args:
        message: what happened.
        region, object: where, and to which object key, table or function, for an operator to look at.
        cause: the far side's own name for it, such as ``SlowDown``.
        hint: what to do next.
    """

    def __init__(self, message: str, *, region: str = "", object: str = "", cause: str = "", hint: str = "") -> None:
        self.region = region
        self.object = object
        self.cause = cause
        self.hint = hint
        facts = {"region": region, "object": object, "cause": cause}
        told = ", ".join(f"{name}={value}" for name, value in facts.items() if value)
        self.message = message + (f" ({told})" if told else "") + (f"; {hint}" if hint else "")
        super().__init__(self.message)


class InvalidRequest(MemolithError):
    """The request is at fault and would be refused again. ``field`` is the request's own name for the culprit."""

    def __init__(self, field: str, rule: str, *, too_large: bool = False, findings: tuple[dict[str, object], ...] = ()):
        super().__init__(f"{field}: {rule}" if field else rule)
        self.field = field
        self.rule = rule
        self.too_large = too_large
        self.findings = findings


class Unauthenticated(MemolithError):
    """No key, or one that is unknown or revoked."""


class PermissionDenied(MemolithError):
    """The key is good, but its scope does not cover the operation."""


class NotFound(MemolithError):
    """No such thing in the caller's workspace. Things of other workspaces are answered with this too.

    ``why`` is for a caller who may know what became of it, and what to do next.
    """

    def __init__(self, kind: str, id: str, why: str = "") -> None:
        super().__init__(f"{kind} {id} was not found" + (f": {why}" if why else ""))
        self.kind = kind
        self.id = id


class PathConflict(MemolithError):
    """The path is held by a memory, or is the ancestor or descendant of one.

    ``conflicting_memory_id`` is empty when the holder cannot be named, for instance while its creation is under way.
    The path stands beside the message, which an edit's result keeps: it would outlive the memory's redaction there.
    """

    def __init__(self, conflicting_path: str, conflicting_memory_id: str = "") -> None:
        super().__init__("the path is held by another memory")
        self.conflicting_path = conflicting_path
        self.conflicting_memory_id = conflicting_memory_id


class PreconditionFailed(MemolithError):
    """The content is not what the caller believed; nothing was changed. ``path`` is of one edit among several."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        super().__init__("content_sha256 does not match the memory's current content; read it again and retry")


class NeedsApproval(MemolithError):
    """The store's approval policy has the write wait for a person; nothing was changed.

    It is the home's refusal. Where the call landed, the write is opened as a proposal then.
    """

    def __init__(self) -> None:
        super().__init__("the store's approval policy has this write wait for a person; open it as a proposal")


class Conflict(MemolithError):
    """Something else is under way that must end first; the message says what."""


class SnapshotIncomplete(MemolithError):
    """Of the moment asked for, this region may not have everything yet. Instants are microseconds since 1970.

    ``complete_until`` is how far a snapshot may be asked for now; None while the region does not know.
    """

    def __init__(self, as_of: int, complete_until: int | None) -> None:
        far = "" if complete_until is None else f": {rfc3339(complete_until)} at the latest, for now"
        super().__init__(
            f"this region does not have everything of that moment yet; ask later, or for an earlier one{far}"
        )
        self.as_of = as_of
        self.complete_until = complete_until


class RateLimited(MemolithError):
    """The key may make `limit` calls a minute, and has. Nothing was done; after `retry_after_s` it may call again."""

    retry_after_s: int = 1

    def __init__(self, limit: int, retry_after_s: int) -> None:
        super().__init__(
            f"this API key may make {limit} requests a minute, and has", hint=f"try again in {retry_after_s} s"
        )
        self.retry_after_s = retry_after_s


class BudgetExhausted(MemolithError):
    """The store's budget of tokens for the day does not have room for the question. No model was asked."""

    retry_after_s: int = 1

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Busy(MemolithError):
    """Others kept winning until the attempts ran out. Nothing was changed; the same call may be repeated."""


class Unavailable(MemolithError):
    """This region cannot answer now (index being rebuilt, home unreachable). Nothing was changed."""


class Damaged(Unavailable):
    """What is stored is not what was acknowledged, and no whole copy of it was found. Nothing was changed.

    It is an Unavailable, so that what goes on after one (a background pass, another copy) goes on after this too; to a
    caller it is an error of its own. `version_id` is the version whose text it is, where that is known.
    """

    version_id: str = ""

    def __init__(
        self,
        message: str,
        *,
        version_id: str = "",
        region: str = "",
        object: str = "",
        cause: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, region=region, object=object, cause=cause, hint=hint)
        self.version_id = version_id


class OutcomeUnknown(MemolithError):
    """A write may or may not have been committed. Blind repetition could undo a later write of another caller."""


def in_doubt(message: str, error: MemolithError, hint: str = "read before trying again") -> OutcomeUnknown:
    """Make the error of what an `error` left open: it says where that struck, at what, and why."""
    return OutcomeUnknown(message, region=error.region, object=error.object, cause=error.cause, hint=hint)


def unindexed(done: str, error: Unavailable, hint: str = "read before trying again") -> OutcomeUnknown:
    """Make the error of what was put and could not be indexed: it says why, as the index did."""
    return in_doubt(f"{done}, but is not indexed yet", error, hint)


@contextmanager
def once_done(done: str, hint: str = "read before trying again") -> Iterator[None]:
    """Translate what strikes once something was done: no answer may say any more that nothing was."""
    try:
        yield
    except (Busy, Unavailable) as error:
        raise in_doubt(done, error, hint) from error
