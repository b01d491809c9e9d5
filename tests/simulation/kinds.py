"""Kinds of worlds, each about one fault that the worlds of `options.drawn` do not have; and `mixed`, about all of them.

What a kind adds is drawn from a stream of its own, so that the world of a seed is otherwise the one that `drawn` makes.
"""

from __future__ import annotations

import random
from dataclasses import replace

from tests.simulation.kinds_of_homes import failing_over, tearing
from tests.simulation.options import PACES, Options, Weights, drawn, eroding

THREE = ("us-east-1", "eu-west-1", "ap-south-1")

MANY_PATHS = tuple(f"/{number:02d}" for number in range(20))

DAYS = 4
"""How long what was lost for good may take: a comparison at home, what follows from it elsewhere, and as much again."""


def losing(seed: int) -> Options:
    """The world of a seed, in which copies and events are lost for good, and days go by; nothing is sent again."""
    return _losing(random.Random(f"losing {seed}"), drawn(seed))


def emptied(seed: int) -> Options:
    """The world of a seed, in which tables are emptied and nobody is told; regions that look now and then find out."""
    return _emptied(random.Random(f"emptied {seed}"), drawn(seed))


def disagreeing(seed: int) -> Options:
    """The world of a seed, in which every process has a clock of its own, seconds off its neighbours', and caches."""
    return _disagreeing(random.Random(f"disagreeing {seed}"), drawn(seed))


def repeating(seed: int) -> Options:
    """The world of a seed, in which what is passed on to another region arrives twice, also while the first runs."""
    return _repeating(random.Random(f"repeating {seed}"), drawn(seed))


def crossing(seed: int) -> Options:
    """Homes move while calls are under way from one region to another for long, and copies are slower still."""
    return _crossing(random.Random(f"crossing {seed}"), drawn(seed))


def scattering(seed: int) -> Options:
    """Stores that ask for two regions, and that others than the second take over, too or alone; homes move as well."""
    return _scattering(random.Random(f"scattering {seed}"), drawn(seed))


def redacting(seed: int) -> Options:
    """Stores are taken over while clients redact, so that orders come beside what the new home takes up."""
    return _redacting(random.Random(f"redacting {seed}"), drawn(seed))


def deciding(seed: int) -> Options:
    """Stores are taken over, and admins restore or dismiss what came late, while others write."""
    return _deciding(random.Random(f"deciding {seed}"), drawn(seed))


def visiting(seed: int) -> Options:
    """The world of a seed, whose clients search, begin and end sessions, and bring in what was elsewhere before."""
    return _visiting(random.Random(f"visiting {seed}"), drawn(seed))


def joining(seed: int) -> Options:
    """Two regions are written, and a third joins them meanwhile: it is filled, and its tables are built."""
    return _joining(random.Random(f"joining {seed}"), drawn(seed))


def damaging(seed: int) -> Options:
    """The world of a seed, in which somebody changes texts in one region's bucket; reads have to notice.

    At rest, audits have to notice what no read can.
    """
    return _damaging(random.Random(f"damaging {seed}"), drawn(seed))


def conflicting(seed: int) -> Options:
    """The world of a seed, whose transactions hold their rows for a while, and conflict as DynamoDB's do."""
    return _conflicting(random.Random(f"conflicting {seed}"), drawn(seed))


def telling(seed: int) -> Options:
    """Worlds of several kinds, whose events say which version they tell of: what is acknowledged is not read again."""
    kinds = (drawn, failing_over, eroding, tearing, redacting, emptied, disagreeing, conflicting, deciding)
    return replace(kinds[seed % len(kinds)](seed), told=True)


def working(seed: int) -> Options:
    """Two workers do dreams over a store that others write, with pauses past the lease; its home moves, or is lost."""
    return _working(random.Random(f"working {seed}"), drawn(seed))


def contradicting(seed: int) -> Options:
    """Clients write what contradicts what others have written, and resolve it; homes move, or are lost."""
    return _contradicting(random.Random(f"contradicting {seed}"), drawn(seed))


def mixed(seed: int) -> Options:
    """The world of a seed with some of what losing, emptied, disagreeing and repeating add, often several at once."""
    chance, options = random.Random(f"mixed {seed}"), drawn(seed)
    for add in (_losing, _emptied, _disagreeing, _repeating):
        options = add(chance, options) if chance.random() < 0.4 else options
    return options


def _losing(chance: random.Random, options: Options) -> Options:
    """Without retention: a region that lacks something for longer than stores keep it has nothing left to fetch."""
    links = replace(options.links, dropped=chance.choice([0.02, 0.1, 0.3]))
    return replace(options, links=links, days=DAYS, day_s=0.0)


def _emptied(chance: random.Random, options: Options) -> Options:
    think_s = chance.choice([0.3, 3.0])
    return replace(options, emptied=1, wipes=0, rebuilds=0, think_s=think_s, tick_s=chance.choice([2.0, 30.0]))


def _disagreeing(chance: random.Random, options: Options) -> Options:
    """Retention allows for clocks that are a day apart, which is short here."""
    apart_s = chance.choice([0.5, 2.0, 5.0])
    return replace(options, processes=chance.choice([0.1, 0.5]), apart_s=apart_s, day_s=0.0)


def _repeating(chance: random.Random, options: Options) -> Options:
    return replace(options, repeated=chance.choice([0.1, 0.3]), passing_s=chance.choice([0.0, 0.0, 3.0]))


def _crossing(chance: random.Random, options: Options) -> Options:
    """Calls are under way for longer than a move waits for leases to run out, and copies for longer still.

    So a region becomes the home while a call that landed there is on its way to the old one, about a memory that was
    made at the old home and has not come here yet.
    """
    links = replace(
        options.links, delay_s=3.0, slow=chance.choice([0.4, 0.9]), slow_s=chance.choice([10.0, 40.0]), cuts=0
    )
    return replace(
        options,
        links=links,
        clients=5,
        operations=40,
        stores=1,
        paths=MANY_PATHS,
        weights=Weights(create=10, write=14, rename=2, delete=2, read=0, list=0, redact=0, history=0),
        moves=4,
        moved_s=10.0,
        failovers=0,
        passing_s=12.0,
        paces=PACES,
        wipes=0,
        rebuilds=0,
        think_s=chance.choice([0.3, 2.0]),
        day_s=0.0,
    )


def _scattering(chance: random.Random, options: Options) -> Options:
    links = replace(options.links, delay_s=3.0, slow=0.4)
    return replace(
        options,
        regions=THREE,
        links=links,
        operations=30,
        two_regions=True,
        elsewhere=0.7,
        moves=chance.choice([0, 0, 1, 2]),
        failovers=chance.choice([1, 1, 2]),
        paces=PACES,
        wipes=0,
        rebuilds=0,
        think_s=chance.choice([1.0, 3.0]),
        day_s=0.0,
    )


def _redacting(chance: random.Random, options: Options) -> Options:
    """Much is written and redacted where the lost home still answers, and copies travel slowly; the rest is in time."""
    links = replace(options.links, delay_s=chance.choice([0.5, 3.0]), slow=0.4, cuts=0)
    return replace(
        options,
        links=links,
        operations=40,
        stores=1,
        weights=Weights(create=5, write=8, rename=1, delete=0, read=1, list=0, redact=10, history=0),
        moves=0,
        failovers=chance.choice([1, 2]),
        moved_s=10.0,
        paces=PACES,
        think_s=chance.choice([0.5, 1.5]),
        two_regions=False,
        day_s=0.0,
    )


def _deciding(chance: random.Random, options: Options) -> Options:
    """Much is acknowledged that comes late, and clients are still there when it has come."""
    links = replace(options.links, delay_s=3.0, slow=0.4, cuts=0)
    return replace(
        options,
        links=links,
        clients=5,
        operations=90,
        stores=1,
        weights=Weights(create=2, write=14, rename=2, delete=1, read=1, list=0, redact=0, restore=8, dismiss=2),
        moves=0,
        failovers=chance.choice([2, 3]),
        moved_s=12.0,
        lost_s=12.0,
        paces=PACES,
        wipes=0,
        rebuilds=0,
        think_s=chance.choice([2.0, 4.0]),
        two_regions=False,
        day_s=0.0,
    )


def _visiting(chance: random.Random, options: Options) -> Options:
    weights = Weights(create=4, write=4, rename=3, delete=2, read=2, list=1, redact=1, search=5, session=5, bring=4)
    return replace(options, weights=weights, operations=36, packs=True, think_s=chance.choice([0.2, 1.0]))


def _joining(chance: random.Random, options: Options) -> Options:
    options = replace(options, regions=THREE, joins=True, think_s=chance.choice([1.0, 4.0]), moves=0, failovers=0)
    return replace(options, wipes=0, rebuilds=0, two_regions=False)


def _damaging(chance: random.Random, options: Options) -> Options:
    """Nothing is lost besides, so that another region has every damaged text whole."""
    weights = Weights(create=4, write=6, rename=3, delete=1, read=10, list=2, redact=1, history=2, search=4)
    options = replace(options, weights=weights, damaged=chance.choice([4, 8, 16]), packs=chance.random() < 0.5)
    options = replace(options, tampered=True)
    return replace(options, operations=36, think_s=chance.choice([0.3, 1.0]), moves=0, failovers=0, wipes=0, day_s=0.0)


def _conflicting(chance: random.Random, options: Options) -> Options:
    """Five milliseconds are DynamoDB's usual time, twenty its slow one; the rest is one that is in trouble."""
    return replace(options, hold_s=chance.choice([0.02, 0.1, 0.5]), think_s=chance.choice([0.0, 0.2]), wipes=0)


def _working(chance: random.Random, options: Options) -> Options:
    """Clocks are off, and none is set: that a job is done after its run, its home's clock says."""
    return replace(
        options,
        workers=True,
        stores=1,
        operations=6,
        moves=chance.choice([0, 1, 2]),
        failovers=chance.choice([0, 0, 1]),
        moved_s=15.0,
        lost_s=12.0,
        paces=PACES,
        freezes=0,
        wipes=0,
        rebuilds=0,
        two_regions=False,
        tick_s=2.0,
        think_s=0.2,
        day_s=0.0,
    )


def _contradicting(chance: random.Random, options: Options) -> Options:
    """Little is written besides, so that what was listed as open is what its memories say when it is resolved."""
    moves, failovers = chance.choice([(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)])
    return replace(
        options,
        disputed=True,
        clients=4,
        operations=36,
        stores=1,
        paths=MANY_PATHS[:5],
        weights=Weights(create=5, write=3, rename=1, delete=0, read=0, list=0, redact=0, history=0, resolve=14),
        links=replace(options.links, cuts=0),
        moves=moves,
        failovers=failovers,
        moved_s=15.0,
        lost_s=12.0,
        paces=PACES,
        packs=True,
        think_s=chance.choice([0.2, 1.0]),
        day_s=0.0,
    )


KINDS_OF_FAULTS = (
    losing,
    emptied,
    disagreeing,
    repeating,
    crossing,
    scattering,
    redacting,
    deciding,
    visiting,
    joining,
    damaging,
    conflicting,
    telling,
    working,
    contradicting,
    mixed,
)
"""Every kind that is about a fault which `drawn` does not have."""
