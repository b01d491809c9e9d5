"""How a client's call reaches a region, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memolith.adapters.memory import MemoryIndex
from memolith.app.api.service import Memolith
from memolith.core import errors
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.identity import StoreRow
from tests.simulation.decisions import as_carried_out
from tests.simulation.history import Operation, Refusal
from tests.simulation.ports import LIVES_S

if TYPE_CHECKING:
    from tests.simulation.clients import Client
    from tests.simulation.tasks import Task
    from tests.simulation.world import World


class Calls:
    """Carries out the calls of clients, each in a function of its own, and enters them into the history."""

    def __init__(self, world: World) -> None:
        self._world = world

    def invoke(
        self, client: Client, store_id: str, kind: str, asked: dict[str, Any], call: Callable[[Memolith], Any]
    ) -> Any:
        """One call of one client, recorded. The function it reaches may outlive its patience.

        A write that arrived twice at its home, and was refused or found everything as asked, is two calls: what one
        copy found may be gone before the other runs, whose answer nobody is told (docs/consistency.md, 5).
        """
        world = self._world
        region = world.network.nearest(client.plan.region)
        if kind == "past":
            asked = {**asked, "term": self._term_known_in(region, store_id)}
        operation = Operation(
            number=len(world.history.operations),
            client=client.plan.client,
            region=region,
            store_id=store_id,
            home=world.is_home(region, store_id),
            kind=kind,
            asked=asked,
            invoked=world.scheduler.tick(),
        )
        world.history.operations.append(operation)
        task = world.scheduler.spawn(
            f"{kind} of {operation.client}",
            lambda: world.sites[region].use(lambda sandbox: call(sandbox.memolith)),
            life_s=LIVES_S["writer"],
        )
        if not world.scheduler.wait(task, world.patience_s()) or task.crashed:
            return None
        if isinstance(task.error, errors.OutcomeUnknown):
            return None
        if isinstance(task.error, errors.MemolithError):
            operation.answer = _refusal(task.error)
        elif task.error is not None:
            world.defects.append(f"{operation}: {task.error!r}")
            return None
        else:
            operation.answer = task.result
            operation.kind, operation.asked = as_carried_out(operation)
        if self._left_it_to_its_twin(task, operation):
            world.history.operations.append(replace(operation, number=len(world.history.operations), answer=None))
        operation.returned = world.scheduler.tick()
        operation.held_there = world.operators.held_there(operation)
        operation.decided_by = world.peers.decided_by.get(task, region)
        operation.shown_us = {name: site.clock.highest_shown_us() for name, site in world.sites.items()}
        return operation.answer

    def _left_it_to_its_twin(self, task: Task, operation: Operation) -> bool:
        """Return whether a write arrived twice at its home, and the answer is that of a copy that made no version."""
        own = self._world.peers.twice.get(task)
        if own is None:
            return False
        return operation.refused or (operation.kind == "update" and operation.answer.version_id not in own)

    def _term_known_in(self, region: str, store_id: str) -> int:
        """Return the number of the last term of a store that a region has heard of; 0 where it knows of no store."""
        site = self._world.sites[region]
        tables = MemoryIndex(site.database, site.serving)
        row = tables.read([StoreRow.key(store_id)]).get(StoreRow.key(store_id))
        return 0 if row is None else parse_epoch(StoreRow.from_attributes(row).epochs[-1]).number


def _refusal(error: errors.MemolithError) -> Refusal:
    return Refusal(
        type(error).__name__,
        getattr(error, "kind", "") or getattr(error, "rule", ""),
        getattr(error, "conflicting_path", ""),
        getattr(error, "conflicting_memory_id", "") or getattr(error, "id", ""),
    )
