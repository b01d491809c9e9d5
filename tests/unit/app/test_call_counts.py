"""What each path asks of AWS, exactly: a row of the table below is the whole of it, in order.

The budgets are ours: an update costs one index read, one PUT and one round trip of index writes, and nothing else; a
creation adds its claim and its look, two reads at once; a read by id is at most one index read and then, at once, one
GET and one read of what the verdicts say of the text. Over HTTP a write has one read more: the caller is looked up
before the body is read, and what the body names is read after it (ADR 30).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from memolith.adapters.layered import CallCounts, Crash, Fault, Strike
from memolith.app.api.event_tail import EventTail
from memolith.app.api.transcripts import EventDraft, EventFilter
from memolith.app.kernel.conflict_results import Conflict
from memolith.app.kernel.results import (
    Memory,
    ReadConsistency,
    RequestContext,
    Session,
    StoreToAttach,
)
from memolith.app.kernel.session_filter import SessionFilter
from memolith.core.commands import ImportedVersion
from memolith.core.errors import MemolithError
from memolith.core.rows.journal import SHARDS_MIN
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.app.trace import Trace

OTHER_SHA = "0" * 64
UNKNOWN = "mem_01m80gqgrfyn8361t51thggc0z"
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


@dataclass(frozen=True)
class Path:
    """One row: what is done, and what each region asks for then. `before` is not part of it."""

    name: str
    act: Callable[[Stage], object]
    home: list[str]
    away: list[str]
    before: Callable[[Stage], object] = lambda stage: None


OPEN = "read control+keys+memories+stores"
"""One batch: the caller's key, the store's record, the head, and which tables serve."""
OPEN_STORE = "read control+keys+stores"
OPEN_SEARCH = "read control+keys+memories+stores+versions"
"""As `OPEN_STORE`, with the marks of the tables on which the answer leans."""
OPEN_PACK = "read control+memories+stores+verdicts+versions"
EXTRACTED = ["read control+keys", "query keys", "read keys", "get transcript", OPEN_STORE]
"""The session, its parts, and the store that is proposed to; what a model is asked is no call of these."""
LISTED = "read memories+paths"
"""What a page shows, and the marks of both tables, after the query."""
OPEN_TEXT = "read control+keys+memories+stores+verdicts"
"""As `OPEN`, for a write that brings a text: whether that text is withheld in this store."""
OPEN_PATH_TEXT = "read control+keys+logs+paths+stores+verdicts"
OPEN_MOVE = "read control+keys+logs+memories+paths+stores"
OPEN_MOVE_TEXT = "read control+keys+logs+memories+paths+stores+verdicts"
PASSED = "read control+memories+stores+versions"
"""As `OPEN`, at home for another region: without the key, and with the versions that the call may have made already."""
PASSED_TEXT = "read control+memories+stores+verdicts+versions"
PASSED_PATH = "read control+logs+memories+paths+stores+verdicts+versions"
SHOW = "[get log | read verdicts]"
"""A text, and whether it may be shown, at once."""
LOOK = ("query paths", "read paths")
"""Below the path, then above it: what the second look reads with the marks of the tables confirms the first one too."""
REMARKED = "read control+keys+paths+stores"
"""Which logs of the day there are."""
UPDATED = "transact journal+memories+versions"
CREATED = "transact journal+logs+memories+paths+versions"
INVOKE = f"invoke peerwriter@{HOME}"

WRITES_AT_HOME = [
    Path("an update", lambda s: s.scene.update(s.a, "x"), [OPEN_TEXT, "put log", UPDATED], []),
    Path(
        "an update with a precondition",
        lambda s: s.scene.update(s.a, "x", expected=s.a.content_sha256),
        [OPEN_TEXT, "put log", UPDATED],
        [],
    ),
    Path(
        "an update answered with its content",
        lambda s: s.scene.update(s.a, "x", full=True),
        [OPEN_TEXT, "put log", UPDATED],
        [],
    ),
    Path(
        "an update in a process just started",
        lambda s: s.scene.update(s.a, "x"),
        [OPEN, "read verdicts", "put log", UPDATED],
        [],
        Stage.cold,
    ),
    Path("an update of what is so already", lambda s: s.scene.update(s.a, "first"), [OPEN_TEXT, "head log"], []),
    Path(
        "an update whose precondition fails",
        lambda s: s.scene.update(s.a, "x", expected=OTHER_SHA),
        [OPEN_TEXT, "head log"],
        [],
    ),
    Path(
        "an update with a text that is withheld: its verdict is read, for the findings",
        lambda s: s.scene.update(s.b, "bad"),
        [OPEN_TEXT, "get verdict"],
        [],
        lambda s: s.scene.judge(s.scene.create("/bad", "bad")),
    ),
    Path(
        "an update of a memory that nobody knows: the table's mark is read before that is said",
        lambda s: s.scene.update(UNKNOWN, "x"),
        [OPEN_TEXT, "read memories"],
        [],
    ),
    Path("an update of a memory that is gone", lambda s: s.scene.update(s.a, "x"), [OPEN_TEXT], [], Stage.deleted),
    Path(
        "a creation",
        lambda s: s.scene.create("/n/new"),
        [OPEN_PATH_TEXT, "write paths", *LOOK, "put log", CREATED],
        [],
    ),
    Path(
        "a creation at the top, where no ancestor can be: the mark alone is read",
        lambda s: s.scene.create("/new"),
        [OPEN_PATH_TEXT, "write paths", *LOOK, "put log", CREATED],
        [],
    ),
    Path(
        "a creation in a process just started: what it reads depends on the salt, and it counts the store",
        lambda s: s.scene.create("/n/new"),
        [OPEN_STORE, "read verdicts", "read logs+paths", "count paths", "write paths", *LOOK, "put log", CREATED],
        [],
        Stage.cold,
    ),
    Path(
        "a creation where a deleted memory was",
        lambda s: s.scene.create("/n/a"),
        [OPEN_PATH_TEXT, "write paths", *LOOK, "put log", CREATED],
        [],
        Stage.deleted,
    ),
    Path(
        "a creation at a path that is held",
        lambda s: s.scene.create("/n/a"),
        [OPEN_PATH_TEXT, "read memories", "head log"],
        [],
    ),
    Path(
        "a creation below a memory: its claim is made, withdrawn, and the neighbour's log asked",
        lambda s: s.scene.create("/n/a/x"),
        [OPEN_PATH_TEXT, "write paths", *LOOK, "read paths", "write paths", "read memories", "head log"],
        [],
    ),
    Path(
        "a rename, which reads the content that it keeps",
        lambda s: s.scene.update(s.a, path="/n/new"),
        [OPEN_MOVE, "get log", "write paths", *LOOK, "put log", "put log", "read logs+paths", CREATED],
        [],
    ),
    Path(
        "a rename with new content",
        lambda s: s.scene.update(s.a, "x", path="/n/new"),
        [OPEN_MOVE_TEXT, "write paths", *LOOK, "put log", "put log", "read logs+paths", CREATED],
        [],
    ),
    Path(
        "a rename to a path that is held",
        lambda s: s.scene.update(s.a, path="/n/b"),
        [OPEN_MOVE, "read memories", "head log", "head log"],
        [],
    ),
    Path("a deletion", lambda s: s.scene.delete(s.a), [OPEN, "put log", "read logs+paths", CREATED], []),
    Path(
        "a deletion whose precondition fails", lambda s: s.scene.delete(s.a, expected=OTHER_SHA), [OPEN, "head log"], []
    ),
]

WRITES_ELSEWHERE = [
    Path(
        "an update",
        lambda s: s.scene.update(s.a, "x", at=AWAY),
        [PASSED_TEXT, "put log", UPDATED],
        [OPEN_TEXT, INVOKE, "read memories+versions", "transact memories+versions"],
    ),
    Path(
        "an update whose precondition fails: the head comes back and is known already",
        lambda s: s.scene.update(s.a, "x", expected=OTHER_SHA, at=AWAY),
        [PASSED_TEXT, "head log", "head log"],
        [OPEN_TEXT, INVOKE, "read memories+versions"],
    ),
    Path(
        "an update whose precondition fails: the head comes back and is news",
        lambda s: s.scene.update(s.a, "x", expected=OTHER_SHA, at=AWAY),
        [PASSED_TEXT, "head log", "head log"],
        [OPEN_TEXT, INVOKE, "read memories+versions", "transact memories+versions"],
        Stage.updated,
    ),
    Path(
        "a creation",
        lambda s: s.scene.create("/n/new", at=AWAY),
        [PASSED_PATH, "write paths", *LOOK, "put log", CREATED],
        [OPEN_PATH_TEXT, INVOKE, "read memories+versions", "read logs+paths", "transact logs+memories+paths+versions"],
    ),
    Path(
        "a deletion",
        lambda s: s.scene.delete(s.a, at=AWAY),
        [PASSED, "put log", "read logs+paths", CREATED],
        [OPEN, INVOKE, "read memories+versions", "read logs+paths", "transact logs+memories+paths+versions"],
    ),
]

READS = [
    Path("a memory", lambda s: s.scene.read(s.a), [OPEN, SHOW], []),
    Path(
        "a memory whose text is withheld: it is read all the same, for no one waits for the other",
        lambda s: s.scene.read(s.a),
        [OPEN, SHOW],
        [],
        lambda s: s.scene.judge(s.a),
    ),
    Path("a memory without its content", lambda s: s.scene.read(s.a, full=False), [OPEN], []),
    Path("a memory that is gone", lambda s: s.scene.read(s.a), [OPEN], [], Stage.deleted),
    Path("a memory in a replica", lambda s: s.scene.read(s.a, at=AWAY), [], [OPEN, SHOW]),
    Path(
        "a memory just written elsewhere, whose content is on its way",
        lambda s: s.scene.read(s.a, at=AWAY),
        [],
        [OPEN, f"[get log | get log@{HOME} | read verdicts]"],
        lambda s: s.scene.update(s.a, "x", at=AWAY),
    ),
    Path(
        "a proof",
        lambda s: s.prove(s.b.version_id),
        ["read control+keys+stores+versions", "get checkpoint", "get checkpoint", "head log"],
        [],
        Stage.sealed,
    ),
    Path(
        "a proof of an erasure",
        lambda s: s.prove(s.a.version_id),
        ["read control+keys+stores+versions", "get redaction", *["get checkpoint"] * 4],
        [],
        Stage.sealed,
    ),
    Path("the keys of checkpoints", lambda s: s.scene.at(HOME).proofs.keys(s.scene.call()), ["read control+keys"], []),
    Path("a store", lambda s: s.scene.at(HOME).stores.retrieve(s.scene.call(), s.scene.store), [OPEN_STORE], []),
    Path("the stores", lambda s: s.scene.stores(), ["read control+keys", "query stores", "read stores"], []),
    Path(
        "the sessions, of two regions",
        lambda s: s.scene.at(HOME).sessions.page(s.scene.call(), filter=SessionFilter(), limit=20, after=None),
        ["read control+keys", "[query keys | query keys]", "read keys"],
        [],
    ),
    Path(
        "a store, with a session's token",
        lambda s: s.scene.at(HOME).stores.retrieve(s.of_session(), s.scene.store),
        [OPEN_STORE],
        [],
        Stage.visited,
    ),
    Path(
        "another token, with the key that began the session",
        lambda s: s.scene.at(HOME).sessions.renew(s.scene.call(), s.session.record.session_id, 60),
        ["read control+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "another token, with another key",
        lambda s: s.scene.at(HOME).sessions.renew(s.scene.call(s.spare_key), s.session.record.session_id, 60),
        ["read control+keys", "read keys"],
        [],
        Stage.visited,
    ),
    Path(
        "a session that was shown an imported text",
        lambda s: s.scene.at(HOME).session_trust.lower("wrkspc_default", s.session.record.session_id, "m"),
        ["read control+keys", "put session", "read keys", "transact journal+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "an event of a session",
        lambda s: s.record("a"),
        ["read control+keys", "query keys", "put transcript", "read keys", "transact journal+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "an event of a session that was recorded before",
        lambda s: s.record("a"),
        ["read control+keys", "query keys"],
        [],
        Stage.reported,
    ),
    Path(
        "the events of a session",
        lambda s: s.scene.at(HOME).transcripts.page(
            s.scene.call(), s.session.record.session_id, filter=EventFilter(), limit=20, after=None
        ),
        ["read control+keys", "query keys", "read keys", "get transcript"],
        [],
        Stage.reported,
    ),
    Path(
        "a stream of a session's events is opened",
        Stage.listen,
        ["read control+keys", "query keys", "read keys"],
        [],
        Stage.reported,
    ),
    Path(
        "a look of a stream on which nothing came",
        lambda s: s.tail.news(),
        ["read control+keys", "[query keys | query keys]"],
        [],
        Stage.listening,
    ),
    Path(
        "a look of a stream on which an event came",
        lambda s: s.tail.news(),
        ["read control+keys", "[query keys | query keys]", "get transcript"],
        [],
        Stage.heard,
    ),
    Path(
        "the resources of a session",
        lambda s: s.scene.at(HOME).sessions.parts.resources(
            s.scene.call(), s.session.record.session_id, limit=20, after=None
        ),
        ["read control+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "the thread of a session",
        lambda s: s.scene.at(HOME).sessions.parts.threads(s.scene.call(), s.session.record.session_id),
        ["read control+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "extraction of a session that taught nothing",
        Stage.extract,
        [*EXTRACTED, "list job", "put job", "put job"],
        [],
        Stage.reported,
    ),
    Path(
        "a search of conversations, of one session",
        Stage.conversations,
        ["read control+keys", "[query keys | query keys]", "query keys", "get transcript", "read keys"],
        [],
        Stage.reported,
    ),
    Path(
        "extraction of a session that taught something",
        Stage.extract,
        [
            *(*EXTRACTED, "list job", "put job"),
            *("read paths", "read control+stores", "read stores", "query stores", "read paths"),
            *("read verdicts", "put proposal", "read stores", "transact journal+stores", "read verdicts", "put job"),
        ],
        [],
        Stage.taught,
    ),
    Path(
        "extraction of a session of which nothing was said since",
        Stage.extract,
        [*EXTRACTED, "list job", "get job"],
        [],
        Stage.extracted,
    ),
    Path(
        "the first remark of a day",
        lambda s: s.scene.at(HOME).remarks.append(s.scene.call(), s.scene.store, "one"),
        [REMARKED, OPEN_PATH_TEXT, "write paths", *LOOK, "put log", CREATED],
        [],
    ),
    Path(
        "a remark in a log that is there",
        lambda s: s.scene.at(HOME).remarks.append(s.scene.call(), s.scene.store, "two"),
        [REMARKED, OPEN_TEXT.removesuffix("+verdicts"), SHOW, OPEN_TEXT, "put log", UPDATED],
        [],
        lambda s: s.scene.at(HOME).remarks.append(s.scene.call(), s.scene.store, "one"),
    ),
    Path(
        "the end of a session, and the order to erase its transcript",
        lambda s: s.scene.at(HOME).sessions.delete(s.scene.call(), s.session.record.session_id),
        [
            *["read control+keys", "put session", "read keys", "transact journal+keys"],
            *["put transcript", "read keys", "transact journal+keys"],
        ],
        [],
        Stage.visited,
    ),
    Path(
        "another title of a session",
        lambda s: s.scene.at(HOME).sessions.update(s.scene.call(), s.session.record.session_id, title="t", metadata={}),
        ["read control+keys", "put session", "read keys", "transact journal+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "the stores, with a key that is limited to some",
        lambda s: s.scene.at(HOME).stores.page(s.scene.call(s.limited_key), **EVERY_STORE),
        ["read control+keys", "read stores", "read stores"],
        [],
        Stage.visited,
    ),
    Path("a listing", lambda s: s.scene.page(), [OPEN_STORE, "query paths", LISTED], []),
    Path("a listing of nothing", lambda s: s.scene.page(path_prefix="/x/"), [OPEN_STORE, "query paths", LISTED], []),
    Path("a memory that nobody knows", lambda s: s.scene.read(UNKNOWN), [OPEN], []),
    Path("a listing of folders alone", lambda s: s.scene.page(depth=1), [OPEN_STORE, "query paths", LISTED], []),
    Path(
        "a listing with content",
        lambda s: s.scene.page(full=True),
        [OPEN_STORE, "query paths", LISTED, "[get log | get log | get log | read verdicts]"],
        [],
    ),
    Path(
        "a version",
        lambda s: s.scene.version(s.a.version_id),
        ["read control+keys+stores+versions", SHOW],
        [],
    ),
    Path(
        "the versions of a memory",
        lambda s: s.scene.versions(memory_id=s.a.id),
        [OPEN, "query versions", "read memories+versions"],
        [],
    ),
    Path(
        "the versions of a store: the newest from the table, the rest from the index",
        lambda s: s.scene.versions(),
        [OPEN_STORE, "query versions", "query versions", "read memories+versions"],
        [],
    ),
]

HITS = "read memories+verdicts"
"""The heads of what was found, and what the verdicts say of it: nothing is shown on a pack's word."""

HEADS = ("read memories", "read verdicts")
"""The same of at most fifty, for what a pack says of itself without excerpts."""

SEARCHES = [
    Path(
        "a search in a process just started",
        Stage.search,
        [OPEN_SEARCH, "list pack", "get pack", "query versions", HITS],
        [],
        Stage.packed,
    ),
    Path("another one", Stage.search, [OPEN_SEARCH, "query versions", HITS], [], Stage.searched),
    Path(
        "a search of the store as it was, where nothing has changed since",
        Stage.search_the_past,
        [OPEN_SEARCH, "query versions", "query memories", HITS],
        [],
        Stage.searched,
    ),
    Path(
        "a search of several stores, for each",
        Stage.search_several,
        [OPEN_SEARCH, "query versions", HITS],
        [],
        Stage.searched,
    ),
    Path(
        "a search after a change",
        Stage.search,
        [OPEN_SEARCH, "query versions", "read memories", "read verdicts", "get log", HITS],
        [],
        Stage.changed,
    ),
    Path(
        "what is linked with a memory: as a search, its former paths, and what the heads and the verdicts say of it",
        Stage.graph,
        [OPEN_SEARCH, "query versions", "query versions", *HEADS],
        [],
        Stage.searched,
    ),
    Path("what matters for a task", Stage.recall, [OPEN_SEARCH, "query versions", *HEADS], [], Stage.searched),
    Path(
        "what memories state, where none does", Stage.observations, [OPEN_SEARCH, "query versions"], [], Stage.searched
    ),
    Path(
        "what was changed last",
        Stage.activity,
        ["read control+keys+stores", "query versions", "query versions", "read memories+versions"],
        [],
    ),
    Path(
        "what contradicts each other, where nothing does",
        Stage.conflicts,
        [OPEN_SEARCH, "query versions"],
        [],
        Stage.searched,
    ),
    Path(
        "what contradicts each other",
        Stage.conflicts,
        [OPEN_SEARCH, "query versions", *HEADS, "read stores", "read versions"],
        [],
        Stage.contradicted,
    ),
    Path(
        "a decision about what contradicts each other",
        Stage.resolve,
        [
            "read control+keys+stores",
            "read control+stores+versions",
            *HEADS,
            "get log",
            "get log",
            "put resolution",
            "read stores",
            "read journal",
            "transact journal+stores",
        ],
        [],
        Stage.disputed,
    ),
    Path(
        "a page of notes that contradict each other",
        Stage.context,
        [OPEN_SEARCH, "query versions", *HEADS, *HEADS, "read stores"],
        [],
        Stage.contradicted,
    ),
    Path("a page of notes", Stage.context, [OPEN_SEARCH, "query versions", *HEADS], [], Stage.searched),
    Path(
        "a whole store in a process just started",
        Stage.load,
        [OPEN, "query memories", "list pack", "get pack", "read verdicts"],
        [],
        Stage.packed,
    ),
    Path(
        "a pack in which nothing changed",
        Stage.pack,
        ["list pack", OPEN_PACK, "get pack", "query verdicts", "query memories"],
        [],
        Stage.packed,
    ),
    Path(
        "a pack after a change, and the end of the one before it",
        Stage.pack,
        [
            "list pack",
            OPEN_PACK,
            "get pack",
            "query verdicts",
            "query memories",
            "get log",
            "put pack",
            f"invoke eraser@{HOME}",
            "versions pack",
            "list store",
            "get store",
            "list store",
            "remove pack",
        ],
        [],
        Stage.changed,
    ),
]

FRESH_READS = [
    Path("a memory as its home has it, at home", lambda s: s.read(at=HOME, home=True), [OPEN, "head log", SHOW], []),
    Path(
        "a memory as its home has it, elsewhere: what was read here serves to find the home, and to let the caller in",
        lambda s: s.read(at=AWAY, home=True),
        ["read control+memories+stores", "head log", SHOW],
        [OPEN, f"invoke peerreader@{HOME}"],
    ),
    Path(
        "a memory whose writer died before it was indexed",
        lambda s: s.read(at=HOME, home=True, full=False),
        [
            OPEN,
            "head log",
            "read control+memories",
            f"invoke indexer@{HOME}",
            "read control+stores",
            "head log",
            "read memories+versions",
            UPDATED,
            "read stores+versions",
            "read control+memories",
            "head log",
        ],
        [],
        Stage.unindexed,
    ),
    Path(
        "a listing as the home has it",
        lambda s: s.list(at=AWAY, home=True),
        ["read control+stores", "query paths", LISTED],
        [OPEN_STORE, f"invoke peerreader@{HOME}"],
    ),
    Path(
        "a memory with a version that is here: the rows are read after the version's",
        lambda s: s.read(at=AWAY, min_version=s.a.version_id),
        [],
        ["read control+keys+memories+stores+versions", "read control+memories+stores", SHOW],
    ),
    Path(
        "a listing with a version that is here",
        lambda s: s.list(at=AWAY, min_version=s.a.version_id),
        [],
        ["read control+keys+stores+versions", "query paths", LISTED],
    ),
    Path(
        "a memory with a version that does not arrive: five looks, and the home's answer",
        lambda s: s.read(at=AWAY, min_version=s.scene.read(s.a, at=HOME, full=False).version_id),
        [OPEN, "read control+memories+stores+versions", "read control+memories+stores", "head log", SHOW],
        [
            "read control+keys+memories+stores+versions",
            *["read control+versions"] * 4,
            f"invoke peerreader@{HOME}",
        ],
        Stage.updated,
    ),
]


def past(act: Callable[[Stage, int], object]) -> Callable[[Stage], object]:
    """A read of the instant that `Stage.settled` has found."""
    return lambda stage: act(stage, stage.instant)


PAST_READS = [
    Path(
        "a memory that has not changed since",
        past(lambda s, instant: s.read(at=HOME, as_of=instant + 30_000_000)),
        [OPEN_SEARCH, SHOW],
        [],
        Stage.settled,
    ),
    Path(
        "a memory that has changed since",
        past(lambda s, instant: s.read(at=HOME, as_of=instant)),
        [OPEN_SEARCH, "query versions", "read versions", SHOW],
        [],
        Stage.settled,
    ),
    Path(
        "a listing, of which one memory has changed since",
        past(lambda s, instant: s.list(at=HOME, as_of=instant)),
        [OPEN_SEARCH, "query memories", "query versions", "read versions"],
        [],
        Stage.settled,
    ),
]

REDACTIONS = [
    Path(
        "a redaction",
        lambda s: s.scene.redact(s.a.version_id),
        [
            OPEN_STORE,
            "read control+stores+versions",
            "read memories",
            "put redaction",
            "read versions",
            "transact journal+versions",
            "read versions",
            f"invoke eraser@{HOME}",
            "head log",
            "head redaction",
            "erase log",
            "versions dream",
        ],
        [],
        Stage.superseded,
    ),
    Path(
        "a redaction again",
        lambda s: s.scene.redact(s.a.version_id),
        [
            OPEN_STORE,
            "read control+stores+versions",
            "read versions",
            f"invoke eraser@{HOME}",
            "head log",
            "delete_older log",
            "versions dream",
        ],
        [],
        Stage.redacted,
    ),
]

KNOWN = ["read control+stores", "head log", "read memories+versions", "read stores+versions"]
"""What an event costs that tells nothing new, though no writer here has acknowledged it."""

ACKNOWLEDGED = ["read control", "read journal", "read stores"]
"""What the event of a text costs that a writer of this home has acknowledged: nothing of it is read again."""

EVENTS = [
    Path("an update, at home", lambda s: s.event_at(HOME), ACKNOWLEDGED, [], Stage.updated),
    Path("a creation, at home", lambda s: s.event_at(HOME), ACKNOWLEDGED, [], Stage.created),
    Path(
        "an update, at home, once its interval is over: the object is read",
        lambda s: s.event_at(HOME),
        [*ACKNOWLEDGED[:2], "head log", "read stores", "read memories+versions", "read stores+versions"],
        [],
        Stage.over,
    ),
    Path(
        "an update, in a replica",
        lambda s: s.event_at(AWAY),
        [],
        [*KNOWN[:3], "transact memories+versions", "read stores+versions"],
        Stage.updated,
    ),
    Path(
        "an update, in the replica that it landed in: its row says no longer that the object is unseen",
        lambda s: s.event_at(AWAY),
        [],
        [*KNOWN[:3], "write versions", "read stores+versions"],
        lambda s: s.scene.update(s.a, "second", at=AWAY),
    ),
    Path(
        "a creation, in a replica",
        lambda s: s.event_at(AWAY),
        [],
        [*KNOWN[:3], "read logs+paths", "transact logs+memories+paths+versions", "read stores+versions"],
        Stage.created,
    ),
    Path(
        "a deletion, in a replica",
        lambda s: s.event_at(AWAY),
        [],
        [*KNOWN[:3], "read logs+paths", "transact logs+memories+paths+versions", "read stores+versions"],
        Stage.deleted,
    ),
]

VERDICTS = [
    Path(
        "that withholds",
        lambda s: s.scene.judge(s.a),
        ["read control", "read verdicts", "get verdict", "put verdict", "read verdicts", "transact journal+verdicts"],
        [],
    ),
    Path(
        "that stands already",
        lambda s: s.scene.judge(s.a),
        ["read control", "read verdicts", "get verdict"],
        [],
        lambda s: s.scene.judge(s.a),
    ),
    Path(
        "whose event comes at home",
        lambda s: s.event_at(HOME),
        ["read control", "get verdict", "read verdicts"],
        [],
        lambda s: s.scene.judge(s.a),
    ),
    Path(
        "whose event comes in a replica",
        lambda s: s.event_at(AWAY),
        [],
        ["read control", "get verdict", "read verdicts", "write verdicts"],
        lambda s: s.scene.judge(s.a),
    ),
]

HELD = f"head log@{AWAY}"
THERE, NOT_MOVED = f"put log@{AWAY}", f"list store@{AWAY}"

TWO_REGIONS = [
    Path(
        "an update: what it builds on is looked for in the second region, and nobody has failed over since",
        lambda s: s.scene.update(s.a, "x"),
        [OPEN_TEXT, HELD, "put log", THERE, UPDATED, NOT_MOVED],
        [],
        Stage.doubled,
    ),
    Path(
        "the first update after it was asked for: the log is compared with a listing, and brought",
        lambda s: s.scene.update(s.b, "x"),
        [OPEN_TEXT, HELD, f"list log@{AWAY}", f"head store@{AWAY}", "put log", THERE, UPDATED, NOT_MOVED],
        [],
        Stage.asked_to_double,
    ),
    Path(
        "a creation",
        lambda s: s.scene.create("/n/new"),
        [OPEN_PATH_TEXT, "write paths", *LOOK, f"head store@{AWAY}", "put log", THERE, CREATED, NOT_MOVED],
        [],
        Stage.doubled,
    ),
    Path(
        "an update of what is so already",
        lambda s: s.scene.update(s.a, "doubled"),
        [OPEN_TEXT, "head log", HELD, NOT_MOVED],
        [],
        Stage.doubled,
    ),
    Path(
        "an update whose precondition fails",
        lambda s: s.scene.update(s.a, "x", expected=OTHER_SHA),
        [OPEN_TEXT, "head log"],
        [],
        Stage.doubled,
    ),
]

STORES = [
    Path(
        "a creation",
        lambda s: s.scene.create_store(),
        ["read control+keys", "put store", "read stores", "transact journal+stores"],
        [],
    ),
    Path(
        "an archival",
        lambda s: s.scene.at(HOME).stores.archive(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store", "put store", "read stores", "transact journal+stores"],
        [],
    ),
    Path(
        "an archival again",
        lambda s: s.scene.at(HOME).stores.archive(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store"],
        [],
        lambda s: s.scene.at(HOME).stores.archive(s.scene.call(), s.scene.store),
    ),
    Path(
        "a deletion",
        lambda s: s.scene.at(HOME).stores.delete(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store", "put store", "read stores", "transact journal+stores"],
        [],
        lambda s: s.deletes_with_delay(),
    ),
    Path(
        "a restoration",
        lambda s: s.scene.at(HOME).stores.restore(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store", "put store", "read stores", "transact journal+stores"],
        [],
        lambda s: s.waiting(),
    ),
    Path(
        "its event, at home",
        lambda s: s.event_at(HOME),
        ["read control", "get store", "read stores"],
        [],
        lambda s: s.scene.create_store(),
    ),
    Path(
        "its event, in a replica",
        lambda s: s.event_at(AWAY),
        [],
        ["read control", "get store", "read stores", "transact stores"],
        lambda s: s.scene.create_store(),
    ),
]

ADMITTED = [
    Path(
        "an update: what its body names is read by itself",
        lambda s: s.update_admitted("x"),
        [OPEN, "read verdicts", "put log", UPDATED],
        [],
    ),
    Path(
        "an update with a new path: one read of all that its body names",
        lambda s: s.update_admitted("x", "/n/z"),
        [
            *(OPEN, "read logs+paths+verdicts", "write paths", *LOOK, "put log", "put log", "read logs+paths"),
            "transact journal+logs+memories+paths+versions",
        ],
        [],
    ),
    Path(
        "a creation",
        lambda s: s.create_admitted("/n/new"),
        [OPEN_STORE, "read logs+paths+verdicts", "write paths", *LOOK, "put log", CREATED],
        [],
    ),
    Path(
        "an archival of the store: nothing is read twice",
        lambda s: s.archive_admitted(),
        [OPEN_STORE, "read control", "get store", "put store", "read stores", "transact journal+stores"],
        [],
    ),
]

BROUGHT = "read control+memories+stores+versions"
"""Of one version that is brought in: the store's record, its memory, and whether it is here already."""
BLANK_FOLDED = "transact journal+logs+memories+versions"
BROUGHT_OVER = [BROUGHT, "read logs+paths", "write paths", *LOOK]
BROUGHT_FIRST = [*BROUGHT_OVER, "put log", CREATED]

IMPORTS = [
    Path(
        "its first version: a creation, which is not read with the call",
        lambda s: s.bring(told(1)),
        [OPEN_STORE, *BROUGHT_FIRST],
        [],
    ),
    Path(
        "two versions in one call: one opening for both",
        lambda s: s.bring(told(1), told(2, content="new")),
        [OPEN_STORE, *BROUGHT_FIRST, BROUGHT, "put log", UPDATED],
        [],
    ),
    Path(
        "a later version: an update",
        lambda s: s.bring(told(2, content="new")),
        [OPEN_STORE, BROUGHT, "put log", UPDATED],
        [],
        Stage.brought,
    ),
    Path(
        "a version at another path: a rename with new content",
        lambda s: s.bring(told(2, path="/n/later")),
        [
            OPEN_STORE,
            BROUGHT,
            "read logs+paths",
            "write paths",
            *LOOK,
            "put log",
            "put log",
            "read logs+paths",
            CREATED,
        ],
        [],
        Stage.brought,
    ),
    Path(
        "its deletion",
        lambda s: s.bring(told(2, content=None, operation="deleted")),
        [OPEN_STORE, BROUGHT, "put log", "read logs+paths", CREATED],
        [],
        Stage.brought,
    ),
    Path("a version that is here already", lambda s: s.bring(told(1)), [OPEN_STORE, BROUGHT], [], Stage.brought),
    Path(
        "a version that retention has erased, with which a memory begins: no path is claimed for it",
        lambda s: s.bring(told(1, path=None, content=None)),
        [OPEN_STORE, BROUGHT, "read logs", "put log", "read memories+versions", "read logs", BLANK_FOLDED],
        [],
    ),
    Path(
        "a version that was redacted: it is put blank, and its order given",
        lambda s: s.bring(told(1, path=None, content=None, redacted_at=3, redacted_by="user:user_2")),
        [
            *(OPEN_STORE, BROUGHT, "read logs", "put log", "read memories+versions", "read logs", BLANK_FOLDED),
            *("put redaction", "read versions", "transact journal+versions"),
        ],
        [],
    ),
    Path(
        "a text after a blank: from the log that is named after the memory it moves to its path's",
        lambda s: s.bring(told(2)),
        [
            OPEN_STORE,
            BROUGHT,
            "read logs+paths",
            "write paths",
            *LOOK,
            "put log",
            "put log",
            "read logs+paths",
            CREATED,
        ],
        [],
        Stage.brought_blank,
    ),
    Path(
        "a text that is withheld where it comes from: its verdict is put first",
        lambda s: s.bring(told(1, withheld_rules=("rule",), withheld_reason="why")),
        [
            *(OPEN_STORE, BROUGHT, "read control", "read verdicts", "get verdict", "put verdict", "read verdicts"),
            *("transact journal+verdicts", *BROUGHT_FIRST[1:]),
        ],
        [],
    ),
    Path(
        "a version whose path is held: it is refused",
        lambda s: s.bring(told(1, path="/n/a")),
        [OPEN_STORE, BROUGHT, "read logs+paths", "read memories", "head log"],
        [],
    ),
    Path(
        "its first version, landing elsewhere",
        lambda s: s.bring(told(1), at=AWAY),
        ["read control+stores", *BROUGHT_FIRST],
        [OPEN_STORE, INVOKE, "read memories+versions", "read logs+paths", "transact logs+memories+paths+versions"],
    ),
    Path(
        "a later version, landing elsewhere",
        lambda s: s.bring(told(2, content="new"), at=AWAY),
        ["read control+stores", BROUGHT, "put log", UPDATED],
        [OPEN_STORE, INVOKE, "read memories+versions", "transact memories+versions"],
        Stage.brought,
    ),
]

ROTATED = [
    "read journal",
    "read journal",
    "transact journal",
    "read journal",
    *["write journal"] * SHARDS_MIN,
    *["query journal"] * SHARDS_MIN,
    "read journal",
    "put checkpoint",
    "write journal",
    "read control",
    "read control+keys+logs+memories+paths+stores+verdicts+versions",
    "get checkpoint",
    f"get checkpoint@{AWAY}",
    "transact control+keys+logs+memories+paths+stores+verdicts+versions",
    "query control",
    "query stores",
]
"""A tick that seals a period in which nothing was written, with the other home's checkpoint looked for."""

TICKS = [
    Path("within the hour", Stage.tick, ROTATED, [], lambda s: s.audited(60.0)),
    Path(
        "with the audit of three periods, and of four versions in one of them, of which one was redacted",
        Stage.tick,
        [
            *ROTATED,
            "read control+journal",
            "write control",
            "read control",
            "get checkpoint",
            "read stores",
            "[get log | get log | get log | get log]",
            "head redaction",
            *["get checkpoint"] * 2,
            "write control",
        ],
        [],
        lambda s: s.audited(3_600.0),
    ),
]

TABLES = {
    "bringing in a history:": IMPORTS,
    "at home": WRITES_AT_HOME,
    "elsewhere": WRITES_ELSEWHERE,
    "reading": READS,
    "searching": SEARCHES,
    "reading freshly": FRESH_READS,
    "reading the past": PAST_READS,
    "redacting": REDACTIONS,
    "a verdict": VERDICTS,
    "a store:": STORES,
    "where a store asks for two regions:": TWO_REGIONS,
    "once the caller was looked up, before the body is read:": ADMITTED,
    "the event of": EVENTS,
    "the reconciler's tick": TICKS,
}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=f"{table}: {path.name}") for table, paths in TABLES.items() for path in paths],
)
def test_each_path_asks_for_what_its_row_says_and_nothing_else(path: Path) -> None:
    stage = Stage()
    path.before(stage)
    stage.play(path.act)
    assert {HOME: stage.trace.of(HOME), AWAY: stage.trace.of(AWAY)} == {HOME: path.home, AWAY: path.away}


def counted(act: Callable[[Scene, Memory], object]) -> CallCounts:
    scene, counts = Scene(), CallCounts()
    made = scene.create("/n/a", "first")
    with scene.intercepted_by(counts):
        act(scene, made)
    return counts


def test_an_update_is_one_read_one_put_and_one_write_of_the_index_in_requests_too() -> None:
    counts = counted(lambda scene, made: scene.update(made, "x", expected=made.content_sha256))
    assert counts.requests == {
        "dynamodb.BatchGetItem": 1,
        "s3.PutObject": 1,
        "dynamodb.TransactWriteItems": 1,
    }


def test_a_creation_is_that_and_its_claim_and_its_look() -> None:
    counts = counted(lambda scene, made: scene.create("/n/new"))
    assert counts.requests == {
        "dynamodb.BatchGetItem": 2,
        "dynamodb.single_write": 1,
        "dynamodb.Query": 1,
        "s3.PutObject": 1,
        "dynamodb.TransactWriteItems": 1,
    }


def test_a_read_by_id_is_one_read_of_the_index_and_then_one_get_and_one_more_read_at_once() -> None:
    counts = counted(lambda scene, made: scene.read(made))
    assert counts.requests == {"dynamodb.BatchGetItem": 2, "s3.GetObject": 1}


@pytest.mark.parametrize("others", [0, 10, 200])
def test_what_a_write_costs_does_not_depend_on_how_much_the_store_holds(others: int) -> None:
    scene, counts = Scene(), CallCounts()
    made = scene.create("/n/a")
    for number in range(others):
        scene.create(f"/m/{number}")
        scene.update(made, f"text {number}")
    with scene.intercepted_by(counts):
        scene.update(made, "x")
        scene.create("/n/new")
        scene.read(made)
    assert counts.requests == {
        "dynamodb.BatchGetItem": 5,
        "dynamodb.Query": 1,
        "dynamodb.TransactWriteItems": 2,
        "dynamodb.single_write": 1,
        "s3.GetObject": 1,
        "s3.PutObject": 2,
    }
