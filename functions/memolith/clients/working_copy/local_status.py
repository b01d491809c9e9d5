"""``.memolith/local`` of a mount: what this machine has and the store does not, so that nothing is kept out in
silence.
"""

from __future__ import annotations

from memolith.clients.working_copy.state import State
from memolith.clients.working_copy.temporary_names import why_local
from memolith.clients.working_copy.unsaved_texts import Kind, LocalText


def state_of(local: LocalText) -> str:
    """Return ``waiting``, ``temporary`` or ``kept``."""
    return "waiting" if local.kind is Kind.EDIT else local.kind.value


def reason_of(local: LocalText) -> str:
    """Explain to a person why the store does not have it; empty where its writer has not closed it yet."""
    if local.kind is Kind.TEMPORARY:
        return why_local(local.path)
    return local.reason


def standing(state: State) -> bytes:
    """Write a line for each local text and ignored name, by path: its state, its path and the reason, between tabs."""
    with state.lock:
        known = sorted(state.locals.items())
    lines = [(path, state_of(local), reason_of(local)) for path, local in known]
    lines += [(path, "ignored", reason) for path, reason in state.ignored.items()]
    return "".join(f"{status}\t{path}\t{reason}\n" for path, status, reason in sorted(lines)).encode()
