"""Clients: each carries out its plan (`plans`), and what it does depends on what it is told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memolith.app.api.service import Memolith
from memolith.app.kernel.results import (
    Memory,
    MemoryPrefix,
    Page,
    ReadConsistency,
    RequestContext,
    Version,
    VersionFilter,
)
from memolith.app.safety.verdicts import Verdicts
from memolith.core import ids
from memolith.core.errors import Unavailable
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from tests.simulation.decisions import decide
from tests.simulation.history import Listed, Refusal, Seen, Snapshot
from tests.simulation.plans import SHARED_TEXTS, Plan, Step
from tests.simulation.ports import BIRTH_US
from tests.simulation.resolutions import resolve
from tests.simulation.visits import visit

PAGES_MAX = 50
INSTANT_US = 10_000_000


@dataclass(slots=True)
class Shared:
    """What clients tell each other: memories and versions, by store; and of each memory the version heard of last."""

    memories: dict[str, list[str]] = field(default_factory=dict)
    versions: dict[str, list[Version]] = field(default_factory=dict)
    withheld: dict[str, list[Version]] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)

    def learn(self, store_id: str, memory_id: str) -> None:
        known = self.memories.setdefault(store_id, [])
        if memory_id not in known:
            known.append(memory_id)


Invoke = Callable[["Client", str, str, dict[str, Any], Callable[[Memolith], Any]], Any]
"""How a call reaches a region: (client, store_id, kind, asked, call) -> the answer, or None when none came."""


@dataclass(slots=True)
class Client:
    """Carries out its plan, one call after the other."""

    plan: Plan
    stores: tuple[str, ...]
    call: Callable[[], RequestContext]
    shared: Shared
    invoke: Invoke
    think: Callable[[], None]
    now_us: Callable[[], int]
    page: int
    seen: dict[str, Seen] = field(default_factory=dict)
    listings: list[int] = field(default_factory=list)

    def live(self) -> None:
        for step in self.plan.steps:
            self.think()
            self._do(step)

    def _do(self, step: Step) -> None:
        store_id = self.stores[step.store]
        memory_id = self._pick(store_id, step)
        if step.kind == "create":
            self._create(store_id, step)
        elif step.kind == "list":
            self.list(store_id)
        elif step.kind == "past":
            self.past(store_id, step)
        elif step.kind in ("search", "bring", "session"):
            visit(self, store_id, step)
        elif step.kind == "resolve":
            resolve(self, store_id, step)
        elif memory_id is None:
            return
        elif step.kind in ("write", "rename"):
            self._update(store_id, step, memory_id)
        elif step.kind == "delete":
            expected = self._expected(memory_id, step)
            asked = {"memory_id": memory_id, "expected": expected}
            self.invoke(
                self,
                store_id,
                "delete",
                asked,
                lambda memolith: memolith.memories.delete(
                    self.call(), store_id, memory_id, expected_content_sha256=expected
                ),
            )
        elif step.kind == "read":
            self.read(store_id, memory_id, self._demand(memory_id, step))
        elif step.kind == "history" and step.careful:
            self.all_versions(store_id)
        elif step.kind == "history":
            self.versions(store_id, memory_id)
        elif step.kind == "redact":
            self._redact(store_id, step, memory_id)
        elif step.kind == "withhold":
            self._withhold(store_id, step, memory_id)
        elif step.kind == "release":
            self._release(store_id, step)
        elif step.kind in ("restore", "dismiss"):
            decide(self, store_id, step)

    def _pick(self, store_id: str, step: Step) -> str | None:
        known = self.shared.memories.get(store_id, [])
        return known[step.pick % len(known)] if known else None

    def _expected(self, memory_id: str, step: Step) -> str | None:
        return self.seen[memory_id].sha256 if step.careful and memory_id in self.seen else None

    # ---- writing ------------------------------------------------------------------------------------------------

    def _create(self, store_id: str, step: Step) -> None:
        path, content = step.path, step.text(self.plan.client)
        self._learn(
            store_id,
            self.invoke(
                self,
                store_id,
                "create",
                {"path": path, "content": content},
                lambda memolith: _seen(
                    memolith.memories.create(self.call(), store_id, path=path, content=content, full=step.careful)
                ),
            ),
        )

    def _update(self, store_id: str, step: Step, memory_id: str) -> None:
        text: str | None = step.shared or step.text(self.plan.client)
        path = step.path if step.kind == "rename" else None
        if path is not None and step.pick % 3:
            text = None
        asked = {"memory_id": memory_id, "content": text, "path": path, "expected": self._expected(memory_id, step)}
        answer = self.invoke(
            self,
            store_id,
            "update",
            asked,
            lambda memolith: _seen(
                memolith.memories.update(
                    self.call(),
                    store_id,
                    memory_id,
                    content=text,
                    path=path,
                    expected_content_sha256=asked["expected"],
                    full=step.careful,
                )
            ),
        )
        self._learn(store_id, answer)
        if isinstance(answer, Refusal) and answer.name in ("PreconditionFailed", "NotFound"):
            self.read(store_id, memory_id)

    def _redact(self, store_id: str, step: Step, memory_id: str) -> None:
        known = self.versions(store_id, memory_id)
        older = [one for one in known[1:] if one.redacted_at is None] or list(known)
        if not older:
            return
        chosen = older[step.pick % len(older)]
        asked = {"version_id": chosen.id, "memory_id": memory_id, "sha256": chosen.content_sha256}
        self.invoke(
            self,
            store_id,
            "redact",
            asked,
            lambda memolith: memolith.redactions.redact(self.call(), store_id, chosen.id).id,
        )

    def _withhold(self, store_id: str, step: Step, memory_id: str) -> None:
        """At the store's home, as whoever scans does; not of a text that others write too, who would be refused."""
        if ids.birth_region(store_id, (self.plan.region,)) is None:
            return
        known = [one for one in self.versions(store_id, memory_id) if one.content_sha256 not in (None, *_SHARED)]
        if not known:
            return
        chosen = known[step.pick % len(known)]
        self.shared.withheld.setdefault(store_id, []).append(chosen)
        asked = {"version_id": chosen.id, "sha256": chosen.content_sha256}
        self.invoke(self, store_id, "withhold", asked, lambda memolith: withhold(memolith, store_id, chosen))

    def _release(self, store_id: str, step: Step) -> None:
        known = self.shared.withheld.get(store_id, [])
        if not known:
            return
        chosen = known[step.pick % len(known)]
        asked = {"version_id": chosen.id, "sha256": chosen.content_sha256}
        self.invoke(
            self,
            store_id,
            "release",
            asked,
            lambda memolith: (
                memolith.quarantine.release(self.call(), store_id, chosen.id, reason="why not").version_ids
            ),
        )

    def _demand(self, memory_id: str, step: Step) -> ReadConsistency:
        """Of careful readers half want what the home knows, the rest at least what somebody has told them of."""
        if not step.careful:
            return ReadConsistency()
        return (
            ReadConsistency(home=True)
            if step.pick % 2
            else ReadConsistency(min_version=self.shared.heard.get(memory_id))
        )

    # ---- reading ------------------------------------------------------------------------------------------------

    def read(self, store_id: str, memory_id: str, demand: ReadConsistency | None = None) -> Seen | Refusal | None:
        """By id, with the content, whose hash has to be the one beside it."""
        demand = demand or ReadConsistency()
        asked = {"memory_id": memory_id, "home": demand.home or None, "least": demand.min_version}
        answer = self.invoke(
            self,
            store_id,
            "read",
            asked,
            lambda memolith: _seen(
                memolith.memories.retrieve(replace(self.call(), demand=demand), store_id, memory_id, full=True)
            ),
        )
        self._learn(store_id, answer)
        return answer if isinstance(answer, Seen | Refusal) else None

    def list(self, store_id: str) -> None:
        """Every page, each a call of its own; `listing` tells which belong together."""
        after: str | None = None
        listing = len(self.listings)
        self.listings.append(listing)
        for _ in range(PAGES_MAX):
            asked = {"listing": listing, "after": after}
            page = self.invoke(
                self,
                store_id,
                "page",
                asked,
                partial(self._page, store_id, after),
            )
            if not isinstance(page, Listed):
                return
            for item in page.items:
                self.shared.learn(store_id, item.memory_id)
            after = page.next_after
            if after is None:
                return

    def _page(self, store_id: str, after: str | None, memolith: Memolith) -> Listed:
        return _listed(
            memolith.memories.page(
                self.call(), store_id, path_prefix=None, depth=0, limit=self.page, after=after, full=False
            )
        )

    def past(self, store_id: str, step: Step) -> None:
        """The store as it was at an instant, one of few, so that others ask for the same; most of them long over."""
        instants = (self.now_us() - BIRTH_US) // INSTANT_US + 1
        as_of = BIRTH_US + step.pick % instants * INSTANT_US
        self.invoke(
            self,
            store_id,
            "past",
            {"as_of": as_of},
            lambda memolith: past(memolith, self.call(), store_id, as_of),
        )

    def versions(self, store_id: str, memory_id: str) -> tuple[Version, ...]:
        """A memory's history, newest first."""
        filter = VersionFilter(memory_id=memory_id)
        answer = self.invoke(
            self,
            store_id,
            "versions",
            {"memory_id": memory_id},
            lambda memolith: (
                memolith.versions.page(self.call(), store_id, filter, limit=100, after=None, full=False).items
            ),
        )
        return answer if isinstance(answer, tuple) else ()

    def all_versions(self, store_id: str) -> None:
        """The store's history, page by page."""
        after: str | None = None
        history = len(self.listings)
        self.listings.append(history)
        for _ in range(PAGES_MAX):
            asked = {"listing": history, "after": after}
            page = self.invoke(self, store_id, "history", asked, partial(self._history_page, store_id, after))
            if not isinstance(page, Page) or page.next_after is None:
                return
            after = page.next_after

    def _history_page(self, store_id: str, after: str | None, memolith: Memolith) -> Page[Version]:
        limit = self.page + 2
        return memolith.versions.page(self.call(), store_id, VersionFilter(), limit=limit, after=after, full=False)

    def _learn(self, store_id: str, answer: object) -> None:
        if isinstance(answer, Seen):
            self.seen[answer.memory_id] = answer
            self.shared.heard[answer.memory_id] = answer.version_id
            self.shared.learn(store_id, answer.memory_id)


_SHARED = tuple(hashlib.sha256(text.encode()).hexdigest() for text in SHARED_TEXTS)


def withhold(memolith: Memolith, store_id: str, version: Version) -> str:
    """Puts a verdict on a version's text, as a person does, who may take back a release: the home knows of each."""
    region = memolith._region
    keys = [StoreRow.key(store_id), VersionRow.key(store_id, version.id)]
    view = region.view(keys)
    if not all(key in view.rows for key in keys):
        raise Unavailable("not indexed here yet")
    store, row = StoreRow.from_attributes(view.rows[keys[0]]), VersionRow.from_attributes(view.rows[keys[1]])
    if store.home != region.name:
        raise Unavailable("not the store's home any more")
    record = VerdictRecord(
        store_id=store_id,
        version_id=version.id,
        position=row.position or "",
        content_hmac=Verdicts.hmac(store, version.content_sha256 or ""),
        outcome=VerdictOutcome.WITHHOLD,
        decided_at=region.clock.now_us(),
        decided_by="user:somebody",
        findings=({"rule": "any"},),
    )
    return str(Verdicts(region).put(record).key)


def past(memolith: Memolith, call: RequestContext, store_id: str, as_of: int) -> Snapshot:
    """The whole store at one instant, in one page."""
    page = memolith.snapshots.page(call, store_id, path_prefix=None, limit=100, after=None, full=True, as_of=as_of)
    return Snapshot(_listed(page).items)


def _seen(memory: Memory) -> Seen:
    """The hash is the content's own, where it is shown: a content that belongs to another hash gives itself away."""
    sha = memory.content_sha256
    if memory.content is not None:
        sha = hashlib.sha256(memory.content.encode()).hexdigest()
    return Seen(
        memory.id, memory.version_id, memory.path, sha, has_text=memory.content is not None and memory.withheld is None
    )


def _listed(page: Page[Memory | MemoryPrefix]) -> Listed:
    return Listed(tuple(_seen(item) for item in page.items if isinstance(item, Memory)), page.next_after)
