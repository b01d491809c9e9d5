"""Kinds of worlds, each about one fault that the worlds of `options.drawn` do not have; and `mixed`, about all of them.

What a kind adds is drawn from a stream of its own, so that the world of a seed is otherwise the one that `drawn` makes.
"""

from __future__ import annotations

import random
from dataclasses import replace

from tests.simulation.options import Options, drawn

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
