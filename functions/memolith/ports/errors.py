"""What an adapter may raise, named by what is known of the call.

PortError
├── ObjectNotFound     nothing is there
├── ObjectExists       a conditional put met something
├── Contended          undecided: another writer was at it; the same call may be made again at once
├── Unavailable        not done, and not to be had now
└── OutcomeUnknown     it may have been done: look before anything else
"""

from __future__ import annotations

from memolith.core import errors


class PortError(Exception):
    """Base of what adapters raise; anything else that escapes an adapter is a defect of it."""


class ObjectNotFound(PortError):
    """No object of that key in that region."""


class ObjectExists(PortError):
    """The key is taken."""


class Contended(PortError):
    """A conflicting request was under way, or a row is no longer what was read. Nothing was changed."""


class Unavailable(errors.Unavailable, PortError):
    """Throttled, unreachable or absent. Nothing was changed."""


class OutcomeUnknown(errors.OutcomeUnknown, PortError):
    """The reply was lost, or the far side failed while it may have been acting."""
