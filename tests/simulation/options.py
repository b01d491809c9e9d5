"""Everything that a world may have or suffer, in one record; drawn from a seed, or given."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

from memolith.adapters.layered import FaultRates
from memolith.core.limits import CONTROL_AGE_US

PACES = (0.8, 1.25)
"""How wrong the ticks of two processes may be beside each other before five seconds are no longer than three."""

REMEMBERED_S = CONTROL_AGE_US / 1_000_000

PATHS = ("/a", "/a/b", "/a/b/c", "/d", "/e")


@dataclass(frozen=True, slots=True)
class Weights:
    """How often a client does what."""

    create: int = 4
    write: int = 4
    rename: int = 4
    delete: int = 1
    read: int = 4
    list: int = 2
    redact: int = 1
    history: int = 1
    withhold: int = 0
    release: int = 0
    past: int = 0
    restore: int = 0
    dismiss: int = 0
    search: int = 0
    session: int = 0
    bring: int = 0
    resolve: int = 0


@dataclass(frozen=True, slots=True)
class Links:
    """What befalls a copy, or an event, on its way. Shares are fractions of all of them; delays are in seconds.

    What is `dropped` comes only with the repair sweep at the end, and in a world with `Options.days` never: then the
    product has to notice by itself. A cut stops one direction of one link for a while.
    """

    delay_s: float = 0.5
    slow: float = 0.1
    slow_s: float = 20.0
    dropped: float = 0.0
    duplicated: float = 0.0
    cuts: int = 0
    cut_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """One world.

    Attributes:
        regions, clients, operations, paths, weights: who does how much, where.
        stores: each has its home in another region.
        rates: what strikes a port call; `late` is a request that takes effect after its caller has given it up.
        stall: the share of port calls before which the caller stands still for up to `stall_s`.
        impatience: the share of calls whose caller gives up while the call goes on.
        batch: the most events that wake an indexer at once; it is `batch_crash` that it dies in between.
        wipes: how often all rows of one region's tables vanish, to be rebuilt.
        rebuilds: how often a region's index is rebuilt for no reason.
        torn: the share of batches and pages in the middle of which others write.
        skew_s, freezes: how far the regions' clocks are apart, how often one stands still for a while, or leaps.
        leap_s: how long a clock stands still at most; it is set by at most three quarters of that.
        lagging: global indexes follow late.
        page: how many lines a page of a listing has.
        think_s: how long clients rest at most between two calls.
        doomed: a store besides the clients' is deleted while it is written.
        tick_s: how long each region's reconciler rests, on average, between two ticks.
        journals_lost: how often all rows of one region's journal vanish.
        day_s: how long a day is for retention; then stores keep what was superseded for one such day. 0: for ever.
        kept: of how many versions of a live memory such stores keep the text however old they are.
        sweep_s: how long each region's eraser rests, at most, between two sweeps.
        two_regions: stores ask that the region after their home holds a write too before it is acknowledged.
        moves: how often an operator moves a store's home to another region, or at least begins to.
        failovers: how often a region is cut off, and others take over the stores that have their homes there.
        moved_s: within how long after the beginning all that happens.
        lost_s: how long a region is cut off at most.
        paces: how fast the ticks of regions' clocks go, from and to.
        days: nothing that was dropped, or given up by a queue, is ever sent again; instead the product's own schedules
            (ticks, comparisons, sweeps) run for so many days at the end. 0: everything is sent again at the end.
        emptied: how often all rows of one region's tables, or of one of its tables, vanish without anybody being told.
        processes: the share of calls that meet a process just begun, with caches of its own.
        apart_s: how far the clocks of one region's processes are from their region's, at most.
        repeated: the share of invocations between regions that arrive twice.
        passing_s: how long an invocation between regions is under way at most, and so is its answer.
        elsewhere: the share of take-overs of stores with a second region that go to other regions, or to two at once.
        packs: each region keeps packs of its stores, from which searches answer.
        damaged: how often the text of an object that every region has is changed in one region's bucket.
        tampered: at rest, whole objects and checkpoints are changed in copies of the buckets, and each is audited.
        hold_s: for how long a transaction holds its rows at most, so that others conflict with it. 0: one moment.
        remembered_s: for how long a process goes by what it has read of which tables serve.
        told: events say which version of an object they tell of, by which a home knows what it has acknowledged.
        workers: two workers do the dreams of a store besides the clients', which others write.
        disputed: what clients write contradicts what they have written elsewhere.
        joins: the last region joins while the others are written: nothing is copied to it before, and nobody calls it.
    """

    regions: tuple[str, ...] = ("us-east-1", "eu-west-1")
    clients: int = 4
    operations: int = 24
    stores: int = 1
    paths: tuple[str, ...] = PATHS
    weights: Weights = field(default_factory=Weights)
    links: Links = field(default_factory=Links)
    rates: FaultRates = field(default_factory=FaultRates)
    late: float = 0.0
    stall: float = 0.0
    stall_s: float = 12.0
    impatience: float = 0.0
    batch: int = 5
    batch_crash: float = 0.0
    wipes: int = 0
    rebuilds: int = 0
    torn: float = 0.0
    skew_s: float = 0.0
    freezes: int = 0
    leap_s: float = 8.0
    lagging: bool = False
    page: int = 3
    think_s: float = 0.0
    doomed: bool = False
    tick_s: float = 2.0
    journals_lost: int = 0
    day_s: float = 0.0
    kept: int = 10
    sweep_s: float = 30.0
    two_regions: bool = False
    moves: int = 0
    failovers: int = 0
    moved_s: float = 20.0
    lost_s: float = 30.0
    paces: tuple[float, float] = (1.0, 1.0)
    days: int = 0
    emptied: int = 0
    processes: float = 0.0
    apart_s: float = 0.0
    repeated: float = 0.0
    passing_s: float = 0.0
    elsewhere: float = 0.0
    packs: bool = False
    joins: bool = False
    workers: bool = False
    disputed: bool = False
    damaged: int = 0
    tampered: bool = False
    hold_s: float = 0.0
    remembered_s: float = 0.0
    told: bool = False


def drawn(seed: int) -> Options:
    """The world of a seed: some have every fault, some one alone, some none, so that none hides another."""
    chance = random.Random(f"options {seed}")
    regions = ("us-east-1", "eu-west-1", "ap-south-1")[: chance.choice([2, 2, 2, 3])]

    def some(*values: float) -> float:
        """Nothing in two worlds of three."""
        return chance.choice(values) if chance.random() < 0.35 else 0.0

    wipes, rebuilds = chance.choice([(0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (2, 0), (0, 1), (1, 1)])
    slow = wipes or rebuilds
    options = Options(
        regions=regions,
        clients=chance.choice([2, 3, 4, 5]),
        operations=chance.choice([12, 18, 26]),
        stores=chance.choice([1, 1, 1, 2]),
        paths=PATHS[: chance.choice([1, 2, 3, 5])],
        weights=_weights(chance),
        links=Links(
            delay_s=chance.choice([0.05, 0.5, 3.0]),
            slow=chance.choice([0.0, 0.1, 0.4]),
            dropped=some(0.05, 0.3),
            duplicated=some(0.1, 0.5),
            cuts=chance.choice([0, 0, 1, 3]),
        ),
        rates=FaultRates(
            refused=some(0.005, 0.03),
            lost_request=some(0.005, 0.02),
            lost_reply=some(0.01, 0.04),
            contended=some(0.02, 0.1),
            crash_before=some(0.003, 0.01),
            crash_after=some(0.003, 0.01),
        ),
        late=some(0.005, 0.02),
        stall=some(0.005, 0.03),
        impatience=some(0.02, 0.1),
        batch_crash=some(0.02, 0.1),
        wipes=wipes,
        rebuilds=rebuilds,
        torn=chance.choice([0.0, 0.1, 0.5]),
        skew_s=some(0.2, 2.0),
        freezes=chance.choice([0, 0, 0, 1, 2]),
        lagging=chance.random() < 0.5,
        page=chance.choice([1, 2, 3, 20]),
        think_s=chance.choice([10.0, 40.0]) if slow else chance.choice([0.0, 0.0, 0.2, 5.0]),
        tick_s=30.0 if slow else chance.choice([0.5, 2.0, 6.0]),
        journals_lost=chance.choice([0, 0, 0, 1, 2]),
        two_regions=random.Random(f"durability {seed}").random() < 1 / 8,
        remembered_s=random.Random(f"remembered {seed}").choice([0.0, REMEMBERED_S]),
        **_retention(seed),
    )
    options = _with_operators(seed, options)
    return _within_a_day(options) if options.day_s else options


def judging(seed: int) -> Options:
    """The world of a seed, in which texts are withheld and released too."""
    options = drawn(seed)
    return replace(options, weights=replace(options.weights, withhold=4, release=2))


def dying(seed: int) -> Options:
    """A world of readers, whose writers die between the log and the index, and whose indexers hear of it late."""
    del seed
    return Options(
        clients=4,
        operations=40,
        paths=("/a", "/d"),
        weights=Weights(create=1, write=3, rename=0, delete=0, read=16, list=0, redact=0, history=0),
        links=Links(delay_s=0.1, slow=0.3, slow_s=60.0),
        rates=FaultRates(crash_after=0.06),
        think_s=0.5,
    )


def doubled(seed: int) -> Options:
    """The world of a seed, whose stores ask for two regions, and whose copies travel slowly."""
    options = drawn(seed)
    return replace(options, two_regions=True, links=replace(options.links, delay_s=3.0, slow=0.4), wipes=0, rebuilds=0)


def eroding(seed: int) -> Options:
    """The world of a seed, and in it a store that is deleted while it is written."""
    return replace(drawn(seed), doomed=True)


def retaining(seed: int) -> Options:
    """The world of a seed, whose stores keep little for long; much is written at few paths, by some who stand still.

    Without fail-overs, for the reason that `taken_over` gives.
    """
    chance = random.Random(f"retaining {seed}")
    day_s = chance.choice([0.3, 2.0])
    options = _within_a_day(replace(drawn(seed), day_s=day_s, failovers=0))
    weights = Weights(create=2, write=10, rename=3, delete=1, read=3, list=1, redact=1, history=2)
    return replace(
        options,
        operations=30,
        stores=1,
        paths=PATHS[: chance.choice([1, 2, 3])],
        weights=chance.choice([weights, replace(weights, create=4, delete=4)]),
        stall=chance.choice([0.0, 0.01, 0.03]),
        think_s=options.think_s or 1.0,
        kept=chance.choice([1, 2, 3]),
        sweep_s=chance.choice([0.5, 3.0]),
    )


def overtaken(seed: int) -> Options:
    """The world of a seed, in which one path is written by many who stand still, and retention is close behind them."""
    weights = Weights(create=1, write=14, rename=0, delete=0, read=1, list=0, redact=1, history=0)
    return replace(
        retaining(seed),
        clients=5,
        operations=36,
        paths=PATHS[:1],
        weights=weights,
        stall=0.05,
        stall_s=6.0,
        think_s=1.0,
        wipes=0,
        rebuilds=0,
        day_s=0.3,
        kept=1,
        sweep_s=0.4,
    )


def remembering(seed: int) -> Options:
    """The world of a seed, in which clients take their time, and ask how a store was a minute ago, or longer."""
    options = drawn(seed)
    weights = Weights(create=4, write=5, rename=3, delete=2, read=1, list=0, redact=1, history=0, past=6)
    return replace(options, weights=weights, operations=30, wipes=0, rebuilds=0, think_s=40.0, tick_s=6.0)


def crowded(seed: int) -> Options:
    """A world of renames among a few paths, whose movers stand still half-way."""
    del seed
    return Options(
        clients=5,
        operations=26,
        paths=("/a", "/d", "/e"),
        weights=Weights(create=8, write=4, rename=14, delete=2, read=2, list=2, redact=0, history=0),
        stall=0.1,
        stall_s=6.0,
    )


def unheard(seed: int) -> Options:
    """The world of a seed, in which many replies are lost."""
    options = drawn(seed)
    return replace(options, rates=replace(options.rates, lost_reply=0.08))


def _with_operators(seed: int, options: Options) -> Options:
    """Homes move in one world of four, and are taken over in one of eight."""
    chance = random.Random(f"operators {seed}")
    drawn = chance.random()
    if drawn >= 3 / 8:
        return options
    if drawn >= 1 / 4:
        return taken_over(chance, options)
    think_s = options.think_s or chance.choice([1.0, 5.0])
    return replace(options, moves=chance.choice([1, 2]), think_s=think_s, paces=PACES)


def taken_over(chance: random.Random, options: Options) -> Options:
    """Without retention: a region that is cut off for longer than stores keep things has erased what nobody knows."""
    options = replace(options, moves=chance.choice([0, 1, 2]), failovers=chance.choice([1, 1, 2]), think_s=3.0)
    return replace(options, paces=PACES, stall=chance.choice([0.0, 0.01, 0.03]), day_s=0.0)


def _retention(seed: int) -> dict[str, Any]:
    """One world in six has stores that keep little for long."""
    chance = random.Random(f"retention {seed}")
    if chance.random() >= 1 / 6:
        return {}
    return {"day_s": chance.choice([0.3, 2.0, 8.0]), "kept": chance.choice([1, 2, 5]), "sweep_s": 4.0}


def _within_a_day(options: Options) -> Options:
    """Retention allows for clocks that are a day apart, and not for more."""
    skew_s, leap_s = options.day_s / 10, options.day_s / 3
    return replace(options, skew_s=min(options.skew_s, skew_s), leap_s=min(options.leap_s, leap_s))


def _weights(chance: random.Random) -> Weights:
    """Now and then a world of renames, of creations, of erasures."""
    return chance.choice(
        [
            Weights(),
            Weights(),
            Weights(create=3, write=1, rename=8, delete=1, read=3, list=3, redact=0, history=0),
            Weights(create=6, write=2, rename=2, delete=4, read=2, list=2, redact=0, history=0),
            Weights(create=3, write=6, rename=3, delete=1, read=1, list=1, redact=5, history=2),
        ]
    )
