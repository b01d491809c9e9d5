"""What an adapter may raise, named by what is known of the call.

    PortError              for the use case that made the call:
    ├── ObjectNotFound     nothing is there
    ├── ObjectExists       a conditional put met something
    └── Contended          undecided: another writer was at it; the same call may be made again at once

    MemolithError          the caller's own errors, which may pass through a use case as they are:
    ├── Unavailable        not done, and not to be had now
    │   └── Damaged        the object is there, and it is not what was put
    └── OutcomeUnknown     it may have been done: look before anything else

`memolith.adapters.layered.translated` adds to the last two which far side failed, in which region, and what to do next.
"""

from __future__ import annotations

from collections.abc import Collection

from memolith.core.errors import Damaged, OutcomeUnknown, Unavailable
from memolith.core.rows.base import RowKey

__all__ = [
    "PORT_FAILURES",
    "Contended",
    "Damaged",
    "ObjectExists",
    "ObjectNotFound",
    "OutcomeUnknown",
    "PortError",
    "Unavailable",
]


class PortError(Exception):
    """Base of the outcomes that a use case handles itself; a caller never sees one."""


class ObjectNotFound(PortError):
    """No object of that key in that region."""


class ObjectExists(PortError):
    """The key is taken."""


class Contended(PortError):
    """A conflicting request was under way, or a row is no longer what was read. Nothing was changed.

    Attributes:
        busy: the rows at which other transactions were, where that alone is why: the same changes, at other rows, would
            have been committed. Empty where a row is no longer what was read, or nobody knows.
    """

    def __init__(self, message: str, busy: Collection[RowKey] = ()) -> None:
        super().__init__(message)
        self.busy = frozenset(busy)


PORT_FAILURES = (PortError, Unavailable, OutcomeUnknown)
"""Everything that an adapter may raise; anything else that escapes one is a defect of it."""
