"""Two regions of one deployment, each behind an API of its own: a store's home, and one that lags until it is told."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.adapters.memory import ManualClock
from tests.api.harness import Backend, _issuer
from tests.support.cloud import Cloud

REGIONS = ("us-east-1", "eu-west-1")
YEAR_US = 365 * 86400 * 1_000_000


@dataclass(frozen=True, slots=True)
class TwoRegions:
    """What happens in `home` is not seen `away` before `deliver`."""

    cloud: Cloud
    home: Backend
    away: Backend
    store_id: str

    def deliver(self) -> None:
        while self.cloud.pending:
            self.cloud.deliver_one(0)

    def contents(self) -> dict[str, str | None]:
        """Every memory's content by path, at home."""
        listed = self.home.client().beta.memory_stores.memories.list(self.store_id, view="full")
        return {one.path: one.content for one in listed if one.type == "memory"}


def two_regions() -> TwoRegions:
    """Make a store whose home is the first region, and which the other one knows."""
    clock = ManualClock()
    cloud = Cloud(REGIONS, clock=clock, memories_per_store=10_000)
    for region in REGIONS:
        cloud.claim_complete(region, clock.now_us() + YEAR_US)
    home, away = (Backend(cloud.sites[region].memolith, clock, _issuer(cloud)) for region in REGIONS)
    made = TwoRegions(cloud, home, away, home.client().beta.memory_stores.create(name="Notes").id)
    made.deliver()
    return made
