"""A home dies, another region takes its stores, and it gets them back; through the real SDK and the real commands.

Its name puts it last: a region of the cloud that all these tests share is gone for a while.
"""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from scripts.drill.running import prepare, run

pytestmark = pytest.mark.e2e


def test_a_dead_home_is_replaced_within_thirty_seconds_and_nothing_acknowledged_is_gone_once_it_is_back(
    dev: dict[str, Any],
) -> None:
    """Thirty seconds from the command to fail over to each store's next write; ours.

    Every write that was acknowledged, before, meanwhile or since, is found in every region with its text: as a head, in
    a history, or as divergent; and of the store that asks for two regions none is divergent.
    """
    drill = prepare(dev, Console(width=120), alone=False)
    report = run(
        drill,
        (
            drill.nothing,
            drill.a_home_dies_and_another_region_takes_its_stores,
            drill.the_home_answers_again_and_gets_its_stores_back,
        ),
    )
    report.show(drill.console)
    assert report.broken == []
