"""What a laptop does beside a sweep of its eraser, though the sweep fails."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.app.erasure.transcript_purge import TranscriptPurge
from memolith.app.replication.due_proposals import DueProposals
from memolith.entry.laptop_files import ASIDE
from memolith.ports.errors import OutcomeUnknown
from tests.unit.entry.test_laptop import Laptop, laptop

__all__ = ["laptop"]


def test_a_sweep_that_fails_leaves_nothing_set_aside_and_no_due_proposal_waiting(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its other parts may have erased a text of which a copy was set aside."""
    looked: list[int] = []

    def fails(*_: Any) -> None:
        raise ValueError("cannot be read")

    with laptop.site() as site:
        site.arrivals.stop()
        (laptop.root / ASIDE).mkdir()
        monkeypatch.setattr(TranscriptPurge, "run", fails)
        monkeypatch.setattr(DueProposals, "run", lambda _, deadline_us: looked.append(deadline_us))
        with pytest.raises(OutcomeUnknown, match="ValueError"):
            site.region.peers.call("laptop", "eraser", {"call": "sweep"})
        assert not (laptop.root / ASIDE).exists()
        with pytest.raises(ValueError, match="cannot be read"):
            site.arrivals._erase()
        assert len(looked) == 1
