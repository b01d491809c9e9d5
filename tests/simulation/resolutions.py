"""People who resolve what contradicts each other: they list what is open, and decide for one side, or for both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.app.api.service import Memolith
from memolith.app.kernel.conflict_results import Conflict
from memolith.app.kernel.results import RequestContext

if TYPE_CHECKING:
    from tests.simulation.clients import Client
    from tests.simulation.plans import Step

LIMITS_S = (5, 30, 60)
"""What the memories say of one and the same thing: few values, so that the same two statements meet again."""

LISTED_MAX = 20


def statement(number: int) -> str:
    """Return a statement that contradicts every memory with another of the values."""
    return f"\n\n- [limit] The timeout of [[Gateway]] is {LIMITS_S[number % len(LIMITS_S)]} s\n"


def resolve(client: Client, store_id: str, step: Step) -> None:
    """Lists what is open in the client's region, chooses one, rests, and decides, as others may have done by then."""
    call = client.call()
    listed = client.invoke(client, store_id, "conflicts", {}, lambda memolith: _page(memolith, call, store_id))
    if not isinstance(listed, tuple) or not listed:
        return
    chosen: Conflict = listed[step.pick % len(listed)]
    keep = ("both", *(side.statement_id for side in chosen.sides))[step.number % 3]
    versions = [side.version_id for side in chosen.sides]
    client.think()
    client.invoke(
        client,
        store_id,
        "resolve",
        {"conflict_id": chosen.id, "keep": keep},
        lambda memolith: memolith.conflict_resolutions.resolve(
            call, store_id, chosen.id, version_ids=versions, keep=keep
        ),
    )


def _page(memolith: Memolith, call: RequestContext, store_id: str) -> tuple[Conflict, ...]:
    page = memolith.conflicts.page
    return page(call, store_id, path_prefix=None, superseded=False, limit=LISTED_MAX, resolved=False).items
