"""One request on its way to a use case, with what every operation needs: the caller, the ids, the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Page, RequestContext
from memolith.wire import cursors, json_views
from memolith.wire.cursors import Listing
from memolith.wire.json_views import Json
from memolith.wire.requests import Request

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request on its way to the use cases. `ids` are those of the path, in its order.

    `present` checks again whether what the request presents is a key, or a token whose time is not over.
    """

    memolith: Memolith
    call: RequestContext
    request: Request
    ids: tuple[str, ...]
    now_us: int
    present: Callable[[], object]

    @property
    def store_id(self) -> str:
        """The store that the path names."""
        return self.ids[0]

    @property
    def item_id(self) -> str:
        """The memory or version that the path names."""
        return self.ids[1]

    def position(self, listing: Listing) -> str | None:
        """Return where the listing is to go on. Raises InvalidRequest naming ``page``."""
        cursor = self.request.query.text("page")
        return None if cursor is None else cursors.position(cursor, self._own(listing), self.now_us)

    def page(self, listing: Listing, answer: Page[T], row: Callable[[T], Json]) -> Json:
        """Make the envelope of a listing."""
        return json_views.page(answer, row, lambda position: cursors.issue(self._own(listing), position, self.now_us))

    def _own(self, listing: Listing) -> Listing:
        return (self.call.credentials.workspace_id, *listing)


def _check_no_body(exchange: Exchange) -> None:
    if not exchange.request.raw_body:
        return
    from memolith.wire.request_bodies import check_no_body

    check_no_body(exchange.request.body())
