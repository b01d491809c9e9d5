"""What a search asks of AWS, whether it brings its pack up to date or not."""

from __future__ import annotations

from tests.unit.app.call_counts.rows import OPEN, OPEN_PACK, OPEN_SEARCH, Path
from tests.unit.app.call_counts.stage import Stage
from tests.unit.app.scene import HOME

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
