"""One row of a table, and the calls that rows of several tables have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.unit.app.call_counts.stage import Stage
from tests.unit.app.scene import HOME

OTHER_SHA = "0" * 64
UNKNOWN = "mem_01m80gqgrfyn8361t51thggc0z"


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
