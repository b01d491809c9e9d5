"""A scene whose asking is traced, and what the rows of the tables do in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.api.event_tail import EventTail
from memolith.app.api.transcripts import EventDraft
from memolith.app.kernel.conflict_results import Conflict
from memolith.app.kernel.results import Memory, ReadConsistency, RequestContext, Session, StoreToAttach
from memolith.core.commands import ImportedVersion
from memolith.core.errors import MemolithError
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.app.trace import Trace

EVERY_STORE: dict[str, Any] = {
    "created_at_gte": None,
    "created_at_lte": None,
    "include_archived": False,
    "limit": 20,
    "after": None,
}


class Stage:
    """A scene whose asking is traced, with memories at ``/n/a`` and ``/n/b`` that both regions know of."""

    def __init__(self) -> None:
        self.instant = 0
        self.session: Session
        self.conflict: Conflict
        self.tail: EventTail
        self.spare_key = self.limited_key = ""
        self.trace = Trace()
        self.scene = Scene(parallel=self.trace)
        self.a = self.scene.create("/n/a", "first")
        self.b = self.scene.create("/n/b", "first")
        self.scene.create("/n/c", "first", at=AWAY)
        self.scene.deliver()

    def play(self, act: Callable[[Stage], object]) -> None:
        """A refusal is an answer too."""
        with self.scene.intercepted_by(self.trace):
            try:
                act(self)
            except MemolithError:
                return

    # ---- what some rows begin with ------------------------------------------------------------------------------

    def cold(self) -> None:
        """A process that has just started."""
        for site in self.scene.cloud.sites.values():
            site.memolith.memories._salts.clear()
            site.memolith.memories._writer._creation._quota._shares.clear()

    def updated(self) -> None:
        self.scene.update(self.a, "second")

    def over(self) -> None:
        """The first memory was updated, and the interval of the acknowledgement log is over."""
        self.updated()
        update, *_ = (event for event in self.scene.cloud.pending if not event.replica)
        self.scene.clock.pause(60.0)
        self.tick()
        self.scene.cloud.pending.insert(0, update)

    def renamed(self) -> None:
        self.scene.update(self.a, path="/n/z")

    def deleted(self) -> None:
        self.scene.delete(self.a)

    def created(self) -> None:
        self.scene.create("/n/new")

    def deletes_with_delay(self) -> None:
        """From now on, a store that is deleted waits for its erasure."""
        for site in self.scene.cloud.sites.values():
            site.region.erase_delay_us = 1_000_000_000

    def waiting(self) -> None:
        """The store was deleted and can be restored."""
        self.deletes_with_delay()
        self.scene.at(HOME).stores.delete(self.scene.call(), self.scene.store)
        self.scene.deliver()

    def asked_to_double(self) -> None:
        """The store asks for two regions, and everything so far has arrived."""
        self.scene.at(HOME).stores.update(
            self.scene.call(), self.scene.store, name="n", description="", metadata={}, durability="two_regions"
        )
        self.scene.deliver()

    def doubled(self) -> None:
        """And the first memory was written since."""
        self.asked_to_double()
        self.scene.update(self.a, "doubled")

    def redacted(self) -> None:
        self.updated()
        self.scene.redact(self.a.version_id)
        self.scene.deliver()

    def sealed(self) -> None:
        """The first memory's first version was redacted, and everything is sealed in the second period."""
        self.redacted()
        self.scene.clock.pause(60.0)
        self.tick()
        self.scene.deliver()

    def audited(self, since_s: float) -> None:
        """The reconciler audited what was sealed, so long ago."""
        self.sealed()
        self.tick()
        self.scene.clock.pause(since_s)

    def tick(self) -> None:
        self.scene.cloud.sites[HOME].reconciling.tick()

    def prove(self, version_id: str) -> object:
        return self.scene.at(HOME).proofs.of_version(self.scene.call(), self.scene.store, version_id)

    def read(self, *, at: str, full: bool = True, as_of: int | None = None, **demand: Any) -> Memory:
        """The first memory, as fresh as is demanded, or as it was."""
        call = RequestContext(self.scene.call().credentials, ReadConsistency(**demand))
        memolith, store = self.scene.at(at), self.scene.store
        if as_of is not None:
            return memolith.snapshots.retrieve(call, store, self.a.id, full=full, as_of=as_of)
        return memolith.memories.retrieve(call, store, self.a.id, full=full)

    def list(self, *, at: str, as_of: int | None = None, **demand: Any) -> object:
        call = RequestContext(self.scene.call().credentials, ReadConsistency(**demand))
        page: dict[str, Any] = {"path_prefix": None, "limit": 100, "after": None, "full": False}
        memolith = self.scene.at(at)
        if as_of is not None:
            return memolith.snapshots.page(call, self.scene.store, as_of=as_of, **page)
        return memolith.memories.page(call, self.scene.store, depth=0, **page)

    def admitted(self, *named: str) -> RequestContext:
        """A call as the wire hands it on: what its path names was read with its caller's key."""
        call = self.scene.call()
        self.scene.at(HOME).admit(call, (self.scene.store, *named))
        return call

    def update_admitted(self, content: str, path: str | None = None) -> object:
        asked: dict[str, Any] = {"content": content, "path": path, "expected_content_sha256": None, "full": False}
        return self.scene.at(HOME).memories.update(self.admitted(self.a.id), self.scene.store, self.a.id, **asked)

    def create_admitted(self, path: str) -> object:
        call = self.admitted()
        return self.scene.at(HOME).memories.create(call, self.scene.store, path=path, content="new", full=False)

    def archive_admitted(self) -> object:
        return self.scene.at(HOME).stores.archive(self.admitted(), self.scene.store)

    def unindexed(self) -> None:
        """A version whose writer died between its put and its fold."""
        with pytest.raises(Crash), self.scene.struck_by(Strike(Fault.CRASH_AFTER, "objects.put_if_absent")):
            self.updated()

    def settled(self) -> None:
        """Finds an instant of which a snapshot can be had, and since when the first memory has changed."""
        self.instant = self.scene.clock.now_us()
        self.scene.clock.advance(1)
        self.updated()
        self.scene.clock.advance(100)
        self.scene.cloud.claim_complete(HOME, self.scene.clock.now_us())

    def visited(self) -> None:
        """A session has begun; and there is another key, and one that is limited to the store."""
        stores = [StoreToAttach(self.scene.store, "read_only", "")]
        self.session = self.scene.at(HOME).sessions.create(
            self.scene.call(), stores, title=None, metadata={}, token_lifetime_s=60
        )
        self.spare_key = self.scene.cloud.key("write")
        self.limited_key = self.scene.cloud.key("read", stores=[self.scene.store])
        self.scene.deliver()

    def record(self, name: str) -> object:
        draft = EventDraft("user.message", {"content": [{"type": "text", "text": "said"}]}, name)
        return self.scene.at(HOME).transcripts.record(self.scene.call(), self.session.record.session_id, [draft])

    def reported(self) -> None:
        """A session has begun, and one event of it was recorded."""
        self.visited()
        self.record("a")
        self.scene.deliver()

    def listen(self) -> object:
        self.tail = self.scene.at(HOME).transcripts.tail(self.scene.call(), self.session.record.session_id)
        return self.tail

    def listening(self) -> None:
        """A stream of a session's events is open."""
        self.reported()
        self.listen()

    def heard(self) -> None:
        """An event was recorded since it was opened."""
        self.listening()
        self.record("b")

    def taught(self) -> None:
        """A session has begun, and a person said in it what is worth keeping."""
        self.visited()
        said = [{"type": "text", "text": "Always deploy the engine on Thursdays."}]
        drafts = [EventDraft("user.message", {"content": said}, "a")]
        self.scene.at(HOME).transcripts.record(self.scene.call(), self.session.record.session_id, drafts)
        self.scene.deliver()

    def extract(self) -> object:
        return self.scene.at(HOME).extractions.extract(self.scene.call(), self.session.record.session_id)

    def extracted(self) -> None:
        self.taught()
        self.extract()
        self.scene.deliver()

    def of_session(self) -> RequestContext:
        return RequestContext(self.scene.at(HOME).sessions.verify(self.session.token or ""))

    def pack(self) -> None:
        self.scene.cloud.peers.call(HOME, "packer", {"call": "pack", "store_id": self.scene.store})

    def packed(self) -> None:
        """A pack that is some while old, in a region that knows that it has everything since."""
        self.scene.clock.advance(100)
        self.scene.cloud.claim_complete(HOME, self.scene.clock.now_us())
        self.pack()
        self.scene.clock.advance(100)
        self.scene.cloud.claim_complete(HOME, self.scene.clock.now_us())

    def searched(self) -> None:
        self.packed()
        self.search()

    def changed(self) -> None:
        self.searched()
        self.updated()

    def graph(self) -> None:
        self.scene.at(HOME).graph.reach(
            self.scene.call(), self.scene.store, root=self.a.id, direction="both", depth=1, types=[], limit=10
        )

    def recall(self) -> None:
        self.scene.at(HOME).recall.recall(
            self.scene.call(), self.scene.store, query="n", recent_tools=[], loaded=[], limit=5, max_tokens=4_000
        )

    def observations(self) -> None:
        self.scene.at(HOME).graph.observations(
            self.scene.call(), self.scene.store, category=None, tag=None, valid_at=None, query=None, limit=10
        )

    def activity(self) -> None:
        self.scene.at(HOME).activity.page(
            self.scene.call(), self.scene.store, since=0, author=None, page=1, page_size=10
        )

    def contradicted(self) -> None:
        self.scene.create("/p.md", "# P\n\n- [port] The port is 8080\n- [port] The port is 9090\n")
        self.searched()

    def conflicts(self) -> None:
        self.scene.at(HOME).conflicts.page(
            self.scene.call(), self.scene.store, path_prefix=None, superseded=False, limit=10
        )

    def disputed(self) -> None:
        self.contradicted()
        found = self.scene.at(HOME).conflicts.page(
            self.scene.call(), self.scene.store, path_prefix=None, superseded=False, limit=10
        )
        self.conflict = found.items[0]

    def resolve(self) -> None:
        versions = [side.version_id for side in self.conflict.sides]
        self.scene.at(HOME).conflict_resolutions.resolve(
            self.scene.call(), self.scene.store, self.conflict.id, version_ids=versions, keep="both"
        )

    def conversations(self) -> None:
        self.scene.at(HOME).transcript_search.search(self.scene.call(), query="n", limit=10)

    def context(self) -> None:
        self.scene.at(HOME).graph.context(
            self.scene.call(), self.scene.store, url="*", depth=1, since=None, page=1, page_size=10, max_related=10
        )

    def search(self) -> None:
        self.scene.at(HOME).search.search(self.scene.call(), self.scene.store, query="n", limit=10)

    def search_the_past(self) -> None:
        self.scene.at(HOME).search.search(
            self.scene.call(), self.scene.store, query="n", limit=10, as_of=self.scene.clock.now_us() - 60_000_000
        )

    def search_several(self) -> None:
        stores = [self.scene.store, self.scene.store]
        self.scene.at(HOME).search.search_several(self.scene.call(), stores, query="n", limit=10)

    def load(self) -> None:
        self.scene.at(HOME).bulk_read.page(self.scene.call(), self.scene.store, after=None)

    def superseded(self) -> None:
        self.updated()
        self.scene.deliver()

    def bring(self, *versions: ImportedVersion, at: str = HOME) -> object:
        return self.scene.at(at).imports.import_versions(self.scene.call(), self.scene.store, versions)

    def brought(self) -> None:
        """The first version of a history is here, and known everywhere."""
        self.bring(told(1))
        self.scene.deliver()

    def brought_blank(self) -> None:
        self.bring(told(1, path=None, content=None))

    def brought_erased(self) -> None:
        self.bring(told(1), told(2, path=None, content=None))

    def event_at(self, region: str, number: int = 0) -> None:
        """The indexer of a region is woken with the key of the number-th object that was put last."""
        events = [event for event in self.scene.cloud.pending if not event.replica]
        event = events[number]
        if region != event.region:
            self.scene.cloud.buckets.replicate(event, region)
        self.scene.cloud.sites[region].indexing.object_arrived(event.key, object_version=event.version_id)


def told(number: int, path: str | None = "/n/old", content: str | None = "old", **more: Any) -> ImportedVersion:
    """The number-th version of a memory elsewhere."""
    operation = more.pop("operation", "created" if number == 1 else "modified")
    names = ("mem_01m80gqgrfyn8361t51thggc0e", f"memver_01m80gqgrfyn8361t51thggc{number}e")
    return ImportedVersion(*names, operation, "user:user_1", number, path, content, **more)
