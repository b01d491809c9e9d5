"""What the model has none of: withheld texts, divergent versions, sessions."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.kernel.results import (
    DivergentVersion,
    Memory,
    Page,
    QuarantinedText,
    RequestContext,
    SessionCredentials,
)
from memolith.core.errors import (
    NotFound,
    Unauthenticated,
)
from tests.api.model.state import State, shown


@dataclass
class Quarantine:
    """Quarantine where nothing was ever withheld: the model knows no verdicts."""

    state: State

    def page(
        self, call: RequestContext, store_id: str, *, include_released: bool, limit: int, after: str | None
    ) -> Page[QuarantinedText]:
        self.state.shelf(call, "admin", store_id)
        return Page((), None)

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> QuarantinedText:
        self.state.shelf(call, "admin", store_id)
        raise NotFound("quarantined_text", version_id)

    def release(self, call: RequestContext, store_id: str, version_id: str, *, reason: str) -> QuarantinedText:
        return self.retrieve(call, store_id, version_id)

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory:
        shelf = self.state.shelf(call, "admin", store_id)
        return shown(self.state.memory(shelf, self.state.version(shelf, version_id).memory_id), full)


@dataclass
class Divergent:
    """Divergent versions where no home was ever lost."""

    state: State

    def page(self, call: RequestContext, store_id: str, *, limit: int, after: str | None) -> Page[DivergentVersion]:
        self.state.shelf(call, "admin", store_id)
        return Page((), None)

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> DivergentVersion:
        self.state.shelf(call, "admin", store_id)
        raise NotFound("divergent_version", version_id)

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory | None:
        self.retrieve(call, store_id, version_id)
        return None

    def dismiss(self, call: RequestContext, store_id: str, version_id: str) -> str:
        return self.retrieve(call, store_id, version_id).version_id


class Sessions:
    """Sessions where nobody ever began one: no token is known."""

    def verify(self, token: str) -> SessionCredentials:
        raise Unauthenticated("there are no sessions here; use an API key")
