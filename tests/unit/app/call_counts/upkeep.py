"""What nobody calls for asks of AWS: the event of an object, and the reconciler's tick."""

from __future__ import annotations

from memolith.core.rows.journal import SHARDS_MIN
from tests.unit.app.call_counts.rows import Path
from tests.unit.app.call_counts.stage import Stage
from tests.unit.app.scene import AWAY, HOME

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
        "a version that was brought in without its text, with which a memory begins: no path of the store is looked at",
        lambda s: s.event_at(HOME),
        [
            "read control",
            "read journal",
            "head log",
            "read stores",
            "read memories",
            "read stores",
            "head log",
            "invoke peerwriter@us-east-1",
            "head log",
            "read control",
            "read control+stores",
            "read memories",
            "read memories+versions",
            "invoke eraser@us-east-1",
            "head log",
            "delete_older log",
            "versions dream",
            "list dream",
        ],
        [],
        Stage.brought_blank,
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
