"""Admins who decide about what stands apart: they look, and then restore it by an ordinary write, or dismiss it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memolith.app.api.service import Memolith
from memolith.app.kernel.results import DivergentVersion, RequestContext
from memolith.core.errors import Busy, NotFound, OutcomeUnknown, PreconditionFailed
from memolith.core.objects.entry import Operation
from tests.simulation.history import Seen

if TYPE_CHECKING:
    from tests.simulation.clients import Client
    from tests.simulation.history import Operation as Call
    from tests.simulation.plans import Step


@dataclass(frozen=True, slots=True)
class Looked:
    """A divergent version as an admin is shown it, and whether restoring it moves its memory."""

    version: DivergentVersion
    renames: bool


def decide(client: Client, store_id: str, step: Step) -> None:
    """Looks at what stands apart in the client's region, chooses one, and restores or dismisses it."""
    call = client.call()
    listed = client.invoke(client, store_id, "divergent", {}, lambda memolith: _page(memolith, call, store_id))
    if not isinstance(listed, tuple) or not listed:
        return
    chosen: DivergentVersion = listed[step.pick % len(listed)]
    asked: dict[str, str | None] = {"version_id": chosen.version_id}
    looked = client.invoke(
        client, store_id, "divergent", asked, lambda memolith: _look(memolith, call, store_id, chosen.version_id)
    )
    if not isinstance(looked, Looked):
        return
    if step.kind == "dismiss" or looked.version.current is None:
        asked |= {"memory_id": chosen.memory_id, "sha256": chosen.content_sha256}
        client.invoke(
            client,
            store_id,
            "dismiss",
            asked,
            lambda memolith: memolith.divergent.dismiss(call, store_id, chosen.version_id),
        )
    elif chosen.operation == Operation.DELETED:
        deletion = {"memory_id": chosen.memory_id, "expected": None, "restores": chosen.version_id}
        client.invoke(client, store_id, "delete", deletion, lambda memolith: _restore(memolith, call, store_id, chosen))
    elif looked.version.content is not None:
        update = {
            "memory_id": chosen.memory_id,
            "content": looked.version.content,
            "path": chosen.path if looked.renames else None,
            "expected": None,
            "restores": chosen.version_id,
        }
        client.invoke(client, store_id, "update", update, lambda memolith: _restore(memolith, call, store_id, chosen))


def as_carried_out(operation: Call) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of an answered call and what it asked: restoring what was deleted meanwhile is a creation."""
    answer, asked = operation.answer, operation.asked
    if operation.kind != "update" or "restores" not in asked or not isinstance(answer, Seen):
        return operation.kind, asked
    if answer.memory_id == asked["memory_id"]:
        return operation.kind, asked
    return "create", {"path": answer.path, "content": asked["content"], "restores": asked["restores"]}


def _page(memolith: Memolith, call: RequestContext, store_id: str) -> tuple[DivergentVersion, ...]:
    return tuple(memolith.divergent.page(call, store_id, limit=100, after=None).items)


def _look(memolith: Memolith, call: RequestContext, store_id: str, version_id: str) -> Looked:
    """What it is, and whether its entry is the end of a rename, which no answer says."""
    divergent = memolith.divergent
    found = divergent.retrieve(call, store_id, version_id)
    if found.operation == Operation.DELETED:
        return Looked(found, renames=False)
    _, row = divergent._find(call, store_id, version_id)
    return Looked(found, divergent._text(row)[0].operation is Operation.MOVED_IN)


def _restore(memolith: Memolith, call: RequestContext, store_id: str, chosen: DivergentVersion) -> Any:
    """An ordinary write against the head that this region knows: where that is another by now, nothing is done.

    Of a deletion no answer says whether there still was something to delete.
    """
    try:
        memory = memolith.divergent.restore(call, store_id, chosen.version_id, full=False)
    except PreconditionFailed as error:
        raise Busy("the memory was written meanwhile") from error
    except NotFound as error:
        if error.id == chosen.version_id:
            raise Busy("somebody else has decided about it") from error
        raise
    if memory is None:
        raise OutcomeUnknown("restored, or gone already")
    return Seen(memory.id, memory.version_id, memory.path, memory.content_sha256)
