"""Defects of decisions about conflicts: how often one is made, where it is known, and which of two holds."""

from __future__ import annotations

from memolith.app.kernel.region import View
from memolith.app.proposals import resolution_log
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.rows.resolutions import ResolutionRow, join
from tests.simulation import sites
from tests.simulation.bugs.jobs import UnconditionalJobs
from tests.simulation.bugs.planting import Bug, in_place_of
from tests.simulation.kinds import contradicting


class UnconditionalResolutions(UnconditionalJobs):
    """A record of a resolution is put whatever stands there."""

    part = "/resolution/"


class KnownAtHomeAlone(resolution_log.ResolutionLog):
    """The region that passed a decision on to the store's home answers without it."""

    def fold(self, view: View, record: ResolutionRecord, name: Named | None = None, own: bool = False) -> None:
        if own:
            super().fold(view, record, name, own)


def join_by_arrival(before: ResolutionRow | None, record: ResolutionRecord) -> ResolutionRow:
    """Whatever arrives last holds."""
    del before
    return join(None, record)


BUGS = (
    Bug(
        "a conflict is resolved without a condition",
        lambda: in_place_of((sites, "MemoryObjects", UnconditionalResolutions)),
        ("a_conflict_is_resolved_once",),
        contradicting,
    ),
    Bug(
        "a resolution is answered where no row says it",
        lambda: in_place_of((resolution_log, "ResolutionLog", KnownAtHomeAlone)),
        ("what_is_resolved_is_open_no_more",),
        contradicting,
    ),
    Bug(
        "the resolution that arrives last holds",
        lambda: in_place_of((resolution_log, "join", join_by_arrival)),
        ("the_resolution_of_the_last_epoch_holds",),
        contradicting,
    ),
)
