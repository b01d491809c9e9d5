"""A reference model of the API: one region, one process, plain dictionaries, no concurrency, nothing clever.

It has the same small classes of use cases as the real thing, one for each resource, and so runs under the same wire.
What the API promises is written here a second time, as naively as possible; comparison tests make the same calls on
both. `state` has what the resources share; the modules beside it have the use cases.
"""

from __future__ import annotations

from collections.abc import Sequence

from memolith.app.kernel.results import RequestContext
from memolith.core import limits
from memolith.ports.clock import Clock
from tests.api.model.absent import Divergent, Quarantine, Sessions
from tests.api.model.memories import BulkRead, Memories, Search, Snapshots
from tests.api.model.state import Key, State
from tests.api.model.stores import Stores
from tests.api.model.versions import Imports, Redactions, Versions


class Model:
    """The use cases of the one region, as `memolith.app.api.service.Memolith` has them.

    `cap` is how many memories a store may hold.
    """

    region = State.region

    def __init__(self, clock: Clock, cap: int = limits.MEMORIES_PER_STORE_DEFAULT) -> None:
        state = State(clock, cap)
        self._state = state
        self.stores = Stores(state)
        self.memories = Memories(state)
        self.snapshots = Snapshots(state)
        self.search = Search(state)
        self.bulk_read = BulkRead(state)
        self.versions = Versions(state)
        self.redactions = Redactions(state)
        self.imports = Imports(state)
        self.quarantine = Quarantine(state)
        self.divergent = Divergent(state)
        self.sessions = Sessions()

    def issue_key(self, workspace: str = "main", scope: str = "admin") -> Key:
        """A key of ``wrkspc_{workspace}``."""
        return self._state.issue_key(workspace, scope)

    def admit(self, call: RequestContext, named: Sequence[str] = ()) -> None:
        """Whoever has no key is told so before anything else."""
        self._state.enter(call, "read")

    def check_health(self) -> None:
        """One process with nothing to lose is always well."""
