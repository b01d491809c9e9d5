"""What a write asks of AWS: at home, elsewhere, where a store asks for two regions, and over HTTP."""

from __future__ import annotations

from tests.unit.app.call_counts.rows import (
    CREATED,
    INVOKE,
    LOOK,
    OPEN,
    OPEN_MOVE,
    OPEN_MOVE_TEXT,
    OPEN_PATH_TEXT,
    OPEN_STORE,
    OPEN_TEXT,
    OTHER_SHA,
    PASSED,
    PASSED_PATH,
    PASSED_TEXT,
    UNKNOWN,
    UPDATED,
    Path,
)
from tests.unit.app.call_counts.stage import Stage
from tests.unit.app.scene import AWAY

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
    Path(
        "an update that empties the text that is expected: first it is asked whether that was shown",
        lambda s: s.scene.update(s.a, "", expected=s.a.content_sha256),
        [OPEN_TEXT, "read verdicts", "get log", "put log", UPDATED],
        [],
    ),
    Path(
        "an update that empties whatever is there",
        lambda s: s.scene.update(s.a, ""),
        [OPEN_TEXT, "put log", UPDATED],
        [],
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
