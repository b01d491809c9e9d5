"""What runs without being asked: each region's schedules, and the walks over everything that it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from memolith.adapters.layered import InterceptedErasableObjects, InterceptedQueue
from memolith.adapters.limits import LIST_PAGE_MAX_KEYS
from memolith.adapters.memory import MemoryErasableObjects, MemoryQueue
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.erasure.dream_step_removal import DreamStepRemoval
from memolith.app.erasure.eraser import Eraser
from memolith.app.erasure.pack_removal import PackRemoval
from memolith.app.erasure.proposal_erasure import ProposalErasure
from memolith.app.erasure.retention import RetentionPass
from memolith.app.erasure.service import Erasures, make_erasures
from memolith.app.erasure.store_purge import StorePurge
from memolith.app.erasure.transcript_purge import TranscriptPurge
from memolith.app.erasure.version_purge import VersionPurge
from memolith.app.index.parts import IndexParts
from memolith.app.replication.compare_checkpoints import PERIODS_BACK
from memolith.app.replication.rotating_audit import PERIODS_MAX, VERSIONS_MAX
from memolith.app.replication.service import make_comparisons
from scripts.costing.meter import Units
from scripts.costing.paths import HOME, Path, Played

MINUTES_A_MONTH = 60 * 730
DAYS_A_MONTH = 730 / 24
DAY_S = 86_400.0
FEW, MANY = 60, 160
"""Of what a walk costs with so many memories more, its price for one is the difference."""


def _tick(played: Played) -> None:
    played.cloud.sites[HOME].reconciling.tick()


def before_tick(played: Played) -> None:
    """Run two minutes in every region: the tick that follows finds a checkpoint of each other home."""
    for _ in range(2):
        played.cloud.clock.pause(60.0)
        for site in played.cloud.sites.values():
            site.reconciling.tick()
        played.cloud.deliver()
    played.cloud.clock.pause(60.0)


def _erasures(played: Played) -> Erasures:
    erasable = MemoryErasableObjects(played.cloud.buckets, HOME)
    around = InterceptedErasableObjects(erasable, HOME, played.intercept)
    return make_erasures(played.cloud.sites[HOME].region, around, SqlitePacks())


def _sweep(played: Played) -> None:
    _erasures(played).sweep()


def _older_versions(played: Played) -> None:
    region = played.cloud.sites[HOME].region
    erasable = InterceptedErasableObjects(MemoryErasableObjects(played.cloud.buckets, HOME), HOME, played.intercept)
    parts = IndexParts.of(region)
    eraser = Eraser(region, erasable, RetentionPass(region, parts.logs, parts.projector), parts.logs, parts.store_log)
    packs = PackRemoval(region, erasable, parts.store_log)
    transcripts = TranscriptPurge(region, erasable, DreamStepRemoval(region, packs))
    proposals = ProposalErasure(region, erasable, parts.store_log)
    stores = StorePurge(region, erasable, eraser, packs, parts, proposals, transcripts)
    VersionPurge(region, erasable, eraser, stores, transcripts).run(played.cloud.clock.now_us() + 1)


SCHEDULES = (
    Path(
        "the reconciler's tick, when nothing was written",
        _tick,
        "reconciler",
        before=before_tick,
        by_http=False,
        batch=1,
    ),
    Path("the eraser's sweep, when nothing is to be erased", _sweep, "eraser", before=_sweep, by_http=False),
)
"""Once a minute each, in every region."""

CHECKPOINTS_A_DAY = PERIODS_BACK
"""Of each other home, one GET each: what the tables are compared with besides the listing."""

AUDITED_A_MONTH = 730 * (VERSIONS_MAX + PERIODS_MAX)
"""Objects that the hourly audit reads at most, one GET each."""


COMPARED_US = 90
"""Of one core, for a version that is listed and shown by its row, measured with boto3: see docs/scale.md."""

VCPU_MB = 1_769
"""Source: AWS Lambda developer guide, "Configure Lambda function memory": at so many MB a function has one vCPU."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk over all that a region holds, once a day.

    Attributes:
        lists: how many keys of the bucket it lists for one memory.
        cpu_us: how long one core takes for one memory, where no call of its own is made for it.
    """

    name: str
    function: str
    act: Callable[[Played], object]
    lists: int = 0
    cpu_us: float = 0.0


def _listing(played: Played) -> None:
    queue = InterceptedQueue(MemoryQueue(), HOME, played.intercept)
    make_comparisons(played.cloud.sites[HOME].region, queue).listing.run(played.cloud.clock.now_us() + 1)


def _rows(played: Played) -> None:
    queue = InterceptedQueue(MemoryQueue(), HOME, played.intercept)
    make_comparisons(played.cloud.sites[HOME].region, queue).rows.run(played.cloud.clock.now_us() + 1)


WALKS = (
    Walk("the listing beside the tables", "reconciler", _listing, lists=1, cpu_us=COMPARED_US),
    Walk("the tables beside each other", "reconciler", _rows),
    Walk("retention, all versions older than its days, none of them due", "eraser", _sweep),
    Walk("the listing of S3 versions, none of them left behind", "eraser", _older_versions, lists=1),
)


@cache
def of_one_memory(walk: Walk) -> Units:
    """Return a scan's units for one memory of one version more, with its share of a LIST of a thousand keys."""
    few, many = (_walked(walk, memories) for memories in (FEW, MANY))
    units = {name: (amount - few.get(name, 0)) / (MANY - FEW) for name, amount in many.items()}
    gb_s = units.get("gb_s", 0) + walk.cpu_us / 1_000_000 * VCPU_MB / 1_024
    return {**units, "put": units.get("put", 0) + walk.lists / LIST_PAGE_MAX_KEYS, "gb_s": gb_s}


def _walked(walk: Walk, memories: int) -> Units:
    played = Played(1)
    for number in range(memories):
        played.create(f"/walked/{number}.md")
    played.cloud.deliver()
    played.cloud.clock.pause(40 * DAY_S)
    return played.measure(Path(walk.name, walk.act, walk.function, by_http=False))[HOME]
