"""What a region may claim of itself, and what a view makes of it (ours)."""

from __future__ import annotations

from dataclasses import replace

from memolith.app.kernel.region import Region
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.rows.journal import SHARDS_MIN, OpenPeriod
from memolith.core.watermark import claimable, least
from memolith.ports.index import Change
from tests.support.cloud import Cloud

ROW = CompletenessRow(
    mark="m", until={"a": "30", "b": "40"}, before={"a": "10", "b": "40"}, folded={}, written_at=0, period=7
)


def test_a_batch_claims_no_more_than_what_stood_before_it_began() -> None:
    assert claimable(ROW, None) == {"a": 10, "b": 40}
    assert claimable(None, ROW) == {}


def test_what_an_earlier_batch_read_may_be_claimed_as_long_as_the_tables_are_the_same() -> None:
    assert claimable(ROW, replace(ROW, until={"a": "20"})) == {"a": 20, "b": 40}
    assert claimable(ROW, replace(ROW, until={"a": "20"}, mark="emptied since")) == {"a": 10, "b": 40}


def test_of_several_homes_the_one_furthest_behind_counts_and_an_unknown_one_means_nothing_is_known() -> None:
    assert least({"a": 10, "b": 40}, ["a", "b"]) == 10
    assert least({"a": 10, "b": 40}, ["b"]) == 40
    assert least({"a": 10}, ["a", "b"]) is None
    assert least({"a": 10}, []) is None


def said(region: Region) -> None:
    region.index.commit([Change(CompletenessRow.key(1), None, ROW.to_attributes(), unconditional=True)])


def test_a_view_knows_nothing_until_the_reconciler_has_said_so_and_its_own_writes_up_to_now() -> None:
    cloud = Cloud(("a", "b"))
    region = cloud.sites["a"].region
    assert region.view().complete_until is None
    region.completeness.clear()
    said(region)
    view = region.view()
    assert (view.complete_until, view.period) == (40, OpenPeriod(7, SHARDS_MIN))
    assert view.complete_until_of(["a"]) == cloud.clock.now_us()


def test_an_incomplete_index_claims_nothing() -> None:
    region = Cloud(("a", "b")).sites["a"].region
    said(region)
    attributes = region.index.read([ControlRow.KEY])[ControlRow.KEY]
    incomplete = replace(ControlRow.from_attributes(attributes), complete=False)
    region.index.commit([Change(ControlRow.KEY, attributes, incomplete.to_attributes())])
    assert region.view().complete_until is None
