"""Ours: a process that started before a rebuild goes on after it, though the tables it knew are gone."""

from __future__ import annotations

import pytest

from memolith.core.errors import Unavailable
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from tests.support.cloud import Cloud


def test_a_process_that_knows_only_dropped_tables_finds_the_serving_ones() -> None:
    cloud = Cloud(["us-east-1"])
    key = cloud.key()
    region = cloud.sites["us-east-1"].region
    tables = cloud.tables("us-east-1")
    tables.make(2)
    control = region.read(region.index, [ControlRow.KEY])[ControlRow.KEY]
    region.index.commit([Change(ControlRow.KEY, control, ControlRow(serving=2, complete=True).to_attributes())])
    tables.drop(1)
    store = cloud.sites["us-east-1"].memolith.stores.create(cloud.call(key), name="n", description="", metadata={})
    assert cloud.sites["us-east-1"].memolith.stores.retrieve(cloud.call(key), store.id) == store
    assert region.index.generation == 2


def test_a_region_whose_serving_tables_are_gone_says_so() -> None:
    cloud = Cloud(["us-east-1"])
    key = cloud.key()
    cloud.tables("us-east-1").drop(1)
    with pytest.raises(Unavailable):
        cloud.sites["us-east-1"].memolith.stores.create(cloud.call(key), name="n", description="", metadata={})
