"""Kinds of worlds in which a planted defect shows, and which no seed of `options` draws."""

from __future__ import annotations

import random
from dataclasses import replace

from memolith.adapters.layered import FaultRates
from tests.simulation.kinds import emptied, losing, repeating, working
from tests.simulation.kinds_of_homes import failing_over, frozen, saved
from tests.simulation.options import PACES, PATHS, REMEMBERED_S, Links, Options, Weights, crowded, drawn, judging


def abandoned(seed: int) -> Options:
    """Stores that ask for two regions, whose writers often die between two calls, and whose copies travel for long."""
    del seed
    return Options(
        clients=4,
        operations=30,
        paths=("/a", "/d"),
        weights=Weights(create=2, write=12, rename=2, delete=0, read=2, list=0, redact=0, history=0),
        rates=FaultRates(crash_before=0.02, crash_after=0.02),
        links=Links(delay_s=20.0, slow=0.5, slow_s=60.0),
        think_s=0.5,
        two_regions=True,
    )


def hurried(seed: int) -> Options:
    """A world whose writers stand still for longer than a period lasts, and whose copies come late or not at all."""
    return replace(
        drawn(seed), tick_s=0.5, stall=0.02, stall_s=8.0, torn=0.5, links=Links(delay_s=3.0, slow=0.3, dropped=0.2)
    )


def losing_journals(seed: int) -> Options:
    """A world whose journals vanish."""
    return replace(hurried(seed), journals_lost=3)


def wavering(seed: int) -> Options:
    """Homes that move, and whose writers and readers stand still for longer than a lease; much is asked and refused."""
    weights = Weights(create=2, write=8, rename=4, delete=2, read=12, list=0, redact=0, history=0)
    return replace(frozen(seed), weights=weights, paths=("/a", "/d"))


def listing_much(seed: int) -> Options:
    """Renames among a few paths, and pages in the middle of which they happen."""
    weights = Weights(create=6, write=2, rename=12, delete=1, read=1, list=12, redact=0, history=0)
    return replace(crowded(seed), weights=weights, torn=0.6, page=20)


def stalling(seed: int) -> Options:
    """Creators of a path and of what is above it, who stand still for longer than a claim lasts."""
    weights = Weights(create=14, write=1, rename=2, delete=4, read=2, list=0, redact=0, history=0)
    chance = random.Random(f"stalling {seed}")
    stall, late = chance.choice([0.03, 0.08]), chance.choice([0.0, 0.05])
    return Options(clients=5, operations=30, paths=PATHS[:3], weights=weights, stall=stall, late=late)


def refusing(seed: int) -> Options:
    """Renames above all, whose puts are refused, or lose their replies."""
    del seed
    weights = Weights(create=6, write=6, rename=12, delete=2, read=2, list=2, redact=0, history=0)
    rates = FaultRates(refused=0.08, lost_reply=0.08)
    paths = ("/a", "/d", "/e")
    return Options(clients=4, operations=26, paths=paths, weights=weights, rates=rates, late=0.05, stall_s=4.0)


def rebuilding_often(seed: int) -> Options:
    """The world of a seed, which is written all the while its indexes are rebuilt; everybody stands still now and then.

    A rebuild waits a minute before it lists anything: clients have to be there still by then.
    """
    return replace(
        drawn(seed),
        clients=5,
        operations=60,
        weights=Weights(create=6, write=8, rename=3, delete=2, read=3, list=2, redact=0, history=2),
        rebuilds=3,
        wipes=0,
        think_s=12.0,
        moves=0,
        failovers=0,
        stall=0.1,
        stall_s=8.0,
        day_s=0.0,
    )


def meeting(seed: int) -> Options:
    """Many writers of several paths, whose transactions take long, while the journal's periods end twice a second."""
    del seed
    weights = Weights(create=8, write=14, rename=0, delete=0, read=0, list=0, redact=0, history=0)
    return Options(clients=6, operations=80, weights=weights, hold_s=0.5, tick_s=0.5, think_s=0.4)


def rebuilding_remembered(seed: int) -> Options:
    """The world of `rebuilding_often`, in which processes remember which tables serve."""
    return replace(rebuilding_often(seed), remembered_s=REMEMBERED_S)


def vanishing(seed: int) -> Options:
    """The world of a seed that reads without pause while its tables vanish and copies come twice, in any order."""
    return replace(
        drawn(seed),
        regions=("us-east-1", "eu-west-1"),
        clients=5,
        operations=40,
        stores=1,
        paths=PATHS[:2],
        weights=Weights(create=2, write=10, rename=1, delete=0, read=14, list=0, redact=0, history=0),
        links=Links(delay_s=3.0, slow=0.4, duplicated=0.6),
        wipes=2,
        rebuilds=0,
        think_s=0.5,
        tick_s=30.0,
        day_s=0.0,
        moves=0,
        failovers=0,
    )


def awakening(seed: int) -> Options:
    """A world whose reconcilers are woken all the time, and read in the middle of what others write."""
    regions = ("us-east-1", "eu-west-1", "ap-south-1")
    return Options(regions=regions, clients=3, operations=6, torn=1.0, tick_s=0.02, stall=0.1, stall_s=1.0)


def three_hurried(seed: int) -> Options:
    """A hurried world of three regions with homes in two of them."""
    return replace(hurried(seed), regions=("us-east-1", "eu-west-1", "ap-south-1"), stores=2)


def insisting(seed: int) -> Options:
    """A repeating world in which most invocations come twice, while many write few memories."""
    weights = Weights(create=4, write=16, rename=2, delete=1, read=2, list=0, redact=0, history=0)
    return replace(
        repeating(seed),
        repeated=0.9,
        passing_s=3.0,
        clients=6,
        operations=60,
        paths=PATHS[:2],
        weights=weights,
        think_s=0.2,
        wipes=0,
        rebuilds=0,
    )


def losing_homes(seed: int) -> Options:
    """Homes are taken over, and copies and events that are lost on the way are never sent again."""
    days = losing(seed)
    return replace(failing_over(seed), links=days.links, days=days.days)


def lossy(seed: int) -> Options:
    """A losing world in which every second or third copy is lost, and much lands away from its home."""
    options = losing(seed)
    return replace(
        options,
        operations=40,
        weights=Weights(create=6, write=8, rename=4, delete=1, read=1, list=0, redact=4, history=0),
        links=replace(options.links, dropped=0.4),
        moves=0,
        failovers=0,
        think_s=1.0,
        wipes=0,
        rebuilds=0,
    )


def taken_by_the_second(seed: int) -> Options:
    """A saved world of a few memories, whose writers stand still between the put at home and the second one."""
    options = saved(seed)
    return replace(
        options,
        clients=5,
        operations=60,
        stores=1,
        paths=PATHS[:1],
        weights=Weights(create=1, write=14, rename=0, delete=0, read=1, list=0, redact=0, history=0),
        stall=0.1,
        stall_s=8.0,
        think_s=0.3,
        moved_s=10.0,
    )


def outlasting(seed: int) -> Options:
    """Homes that move, while creators above all stand still for longer than a move waits for leases to run out.

    A creation makes the most calls before its put. Its path is free at both homes, and its copy travels for long: the
    new home may create something else there, or answer a read that comes after the late one was acknowledged.
    """
    del seed
    return Options(
        clients=10,
        operations=120,
        paths=tuple(f"/{letter}" for letter in "abcdefgh"),
        weights=Weights(create=8, write=6, rename=0, delete=3, read=6, list=0, redact=0, history=0),
        links=Links(delay_s=20.0, slow=0.0),
        stall=0.012,
        stall_s=25.0,
        think_s=4.0,
        tick_s=30.0,
        moves=10,
        moved_s=40.0,
        paces=PACES,
    )


def halving(seed: int) -> Options:
    """A few memories are renamed and written; half of all copies are slow, and a home is lost before all have come.

    So the region that takes it over often holds the second half of a rename, and the first half comes later.
    """
    del seed
    return Options(
        regions=("us-east-1", "eu-west-1", "ap-south-1"),
        clients=5,
        operations=40,
        paths=("/a", "/d", "/e"),
        weights=Weights(create=2, write=8, rename=8, delete=0, read=1, list=0, redact=0, history=0),
        links=Links(delay_s=0.3, slow=0.5, slow_s=20.0),
        think_s=1.5,
        failovers=2,
        moved_s=15.0,
        lost_s=20.0,
        paces=PACES,
    )


def rejudged(seed: int) -> Options:
    """A judging world of two paths, in which most is withheld, released, and withheld again."""
    options = judging(seed)
    weights = Weights(create=3, write=3, rename=0, delete=0, read=8, list=4, withhold=10, release=6)
    return replace(options, operations=40, stores=1, paths=PATHS[:2], weights=weights)


def judged_and_emptied(seed: int) -> Options:
    """Texts are withheld for good and much is read, and memories come to other paths, where tables are emptied."""
    weights = Weights(create=3, write=1, rename=6, delete=0, read=12, list=0, withhold=5, release=0)
    return replace(emptied(seed), operations=50, stores=1, paths=PATHS[:3], weights=weights)


def attended_and_emptied(seed: int) -> Options:
    """Sessions are begun, looked at and ended, where tables are emptied."""
    weights = Weights(create=2, write=1, rename=0, delete=0, read=0, list=0, redact=0, history=0, session=20)
    return replace(emptied(seed), operations=60, stores=1, weights=weights)


def moving_fast(seed: int) -> Options:
    """A frozen world in which one move follows the other, and nobody stands still for longer than a lease lasts."""
    options = replace(frozen(seed), operations=100, links=Links(delay_s=0.05), stall=0.05, stall_s=2.8)
    return replace(options, think_s=0.3, moves=10, moved_s=30.0)


def working_and_moved(seed: int) -> Options:
    """Workers do dreams of stores whose homes move twice as planned, and are not lost."""
    return replace(working(seed), moves=2, failovers=0)
