"""What a history that is brought in asks of AWS."""

from __future__ import annotations

from tests.unit.app.call_counts.rows import CREATED, INVOKE, LOOK, OPEN_STORE, UPDATED, Path
from tests.unit.app.call_counts.stage import Stage, told
from tests.unit.app.scene import AWAY

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
        "a version that is here and was redacted since: its order is given once a later version of the call is in",
        lambda s: s.bring(told(1, path=None, content=None, redacted_at=3), told(2, content="new")),
        [
            *(OPEN_STORE, BROUGHT, "read memories", "head log", BROUGHT, "put log", UPDATED),
            *("read control+stores", "read memories", "put redaction", "read versions", "transact journal+versions"),
        ],
        [],
        Stage.brought,
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
        "a deletion after a version that was erased: whether another memory has come to its path",
        lambda s: s.bring(told(3, path=None, content=None, operation="deleted")),
        [OPEN_STORE, BROUGHT, "read logs", "put log", "read logs", BLANK_FOLDED],
        [],
        Stage.brought_erased,
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
