"""Port calls whose other outcomes are answers: an object that may be absent, rows that others write, a lost reply.

Ports raise `Unavailable` and `OutcomeUnknown` in the caller's own terms already, so that most calls need no handler.
The functions here turn the remaining port errors into values, or into the error that the caller of a use case sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Index
from memolith.ports.objects import Objects, Sink, StoredObject


def find(objects: Objects, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject | None:
    """Return an object of `region`'s bucket (default: this one), or None where it is absent. One GET.

    With `into`, its body goes there, unchecked (`Objects.get`).

    Raises:
        Unavailable: the bucket does not answer.
    """
    try:
        return objects.get(key, region, into)
    except port_errors.ObjectNotFound:
        return None


def require(objects: Objects, key: str, region: str | None = None) -> StoredObject:
    """Return an object that something else, such as a listing or a row, says is there. One GET.

    Raises:
        Unavailable: it is absent after all, or the bucket does not answer.
    """
    found = find(objects, key, region)
    if found is None:
        raise Unavailable("an object that should be in the bucket is not there", object=key, hint="try again")
    return found


def find_head(objects: Objects, key: str, region: str | None = None) -> StoredObject | None:
    """Return the metadata of an object, or None where it is absent. One HEAD. Raises Unavailable."""
    try:
        return objects.head(key, region)
    except port_errors.ObjectNotFound:
        return None


def commit_or_busy(index: Index, changes: Sequence[Change], others: str) -> None:
    """Commit rows that one worker at a time should write. One transaction.

    Args:
        others: who else may be at them, as in "another reconciler is at it".

    Raises:
        Busy: others changed a row first; nothing was done. Unavailable, OutcomeUnknown.
    """
    try:
        index.commit(changes)
    except port_errors.Contended as error:
        raise Busy(others) from error


def commit_as_owner(index: Index, changes: Sequence[Change]) -> bool:
    """Commit a pass's own progress; False where somebody else is at the same pass. Safe to repeat. One transaction.

    Raises:
        Unavailable: it may have been done; repeating it does no harm.
    """
    try:
        with repeatable():
            index.commit(changes)
    except port_errors.Contended:
        return False
    return True


@contextmanager
def repeatable() -> Iterator[None]:
    """Tell a lost reply as Unavailable: what is called within may be done twice without harm.

    Raises:
        Unavailable: there was no answer; repeat the call.
    """
    try:
        yield
    except OutcomeUnknown as error:
        facts = {"region": error.region, "object": error.object, "cause": error.cause or error.message}
        raise Unavailable("a call that may be repeated was not answered", **facts, hint="try again") from error
