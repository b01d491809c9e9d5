"""What a read asks of AWS: of what is so here, as fresh as is demanded, or as it was."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.app.call_counts.rows import (
    LISTED,
    OPEN,
    OPEN_SEARCH,
    OPEN_STORE,
    SHOW,
    UNKNOWN,
    UPDATED,
    Path,
)
from tests.unit.app.call_counts.stage import EVERY_STORE, Stage
from tests.unit.app.scene import AWAY, HOME

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
