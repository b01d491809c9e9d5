"""Kinds of worlds in which homes move, or are lost and taken over."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.simulation.options import PACES, Links, Options, Weights, drawn, taken_over


def moving(seed: int) -> Options:
    """The world of a seed, in which homes move while clients write, stand still, and die."""
    chance = random.Random(f"moving {seed}")
    options = replace(drawn(seed), operations=30, moves=chance.choice([1, 2, 4]), failovers=0, paces=PACES)
    return replace(options, think_s=3.0, wipes=0, rebuilds=0, stall=chance.choice([0.0, 0.01, 0.03]))


def frozen(seed: int) -> Options:
    """A world in which one store moves again and again, while its writers stand still for longer than a lease."""
    chance = random.Random(f"frozen {seed}")
    return Options(
        clients=5,
        operations=60,
        paths=("/a",),
        weights=Weights(create=1, write=14, rename=0, delete=0, read=1, list=0, redact=0, history=0),
        links=Links(delay_s=chance.choice([0.05, 3.0])),
        stall=0.05,
        stall_s=chance.choice([2.5, 12.0]),
        think_s=1.0,
        moves=6,
        paces=PACES,
    )


def failing_over(seed: int) -> Options:
    """The world of a seed, in which regions are cut off while clients write, and others take their stores over."""
    chance = random.Random(f"failing over {seed}")
    return replace(taken_over(chance, drawn(seed)), operations=30)


def tearing(seed: int) -> Options:
    """The world of a seed, in which memories are renamed above all, and homes are taken over meanwhile."""
    weights = Weights(create=4, write=4, rename=12, delete=1, read=2, list=2, redact=0, history=0)
    return replace(failing_over(seed), weights=weights)


def saved(seed: int) -> Options:
    """The world of a seed, whose stores ask for two regions, and whose homes are lost while indexes are behind."""
    options = replace(failing_over(seed), two_regions=True, failovers=2, moves=0)
    return replace(options, links=replace(options.links, delay_s=3.0, slow=0.4), think_s=1.0)
