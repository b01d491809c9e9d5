"""What every adapter of `ports.index.Tables` promises."""

from __future__ import annotations

import pytest

from memolith.core.rows.content import PathRow
from memolith.core.rows.control import ControlRow
from memolith.core.rows.journal import JournalRow
from memolith.core.tables import TABLES
from memolith.ports.errors import Unavailable
from memolith.ports.index import Change, Query
from tests.contract.worlds import IndexWorld

KEY = PathRow.key("s", "/a")


def test_a_generation_serves_as_soon_as_it_is_made(rows: IndexWorld) -> None:
    rows.tables.make(2)
    index = rows.index.at(2)
    for table in TABLES:
        assert index.query(Query(table.name, "p")) == []
        for one in table.indexes:
            assert index.query(Query(table.name, "p", index=one.name)) == []


def test_making_again_keeps_what_is_there_and_adds_what_is_missing(rows: IndexWorld) -> None:
    rows.index.commit([Change(KEY, None, {"n": 1})])
    rows.tables.make(1)
    assert rows.index.read([KEY]) == {KEY: {"n": 1}}


def test_a_dropped_generation_is_gone_and_may_be_made_anew_empty(rows: IndexWorld) -> None:
    rows.index.commit([Change(KEY, None, {"n": 1})])
    rows.tables.drop(1)
    with pytest.raises(Unavailable):
        rows.index.read([KEY])
    rows.tables.drop(1)
    rows.tables.make(1)
    assert rows.index.read([KEY]) == {}


def test_a_table_outside_the_generations_that_was_lost_is_made_anew_empty_and_the_others_keep_what_they_have(
    rows: IndexWorld,
) -> None:
    journal = JournalRow.key("us-east-1", 1, 0, "us-east-1/log/1")
    rows.tables.make_lasting()
    rows.index.commit([Change(key, None, {"n": 1}) for key in (KEY, journal, ControlRow.KEY)])
    rows.lose("control")
    with pytest.raises(Unavailable):
        rows.index.read([ControlRow.KEY])
    rows.tables.make_lasting()
    assert rows.index.read([KEY, journal, ControlRow.KEY]) == {KEY: {"n": 1}, journal: {"n": 1}}


@pytest.mark.slow
def test_dropping_leaves_other_generations_and_what_stands_outside_them(rows: IndexWorld) -> None:
    journal = JournalRow.key("us-east-1", 1, 0, "us-east-1/log/1")
    rows.tables.make(2)
    rows.index.commit([Change(key, None, {"n": 1}) for key in (KEY, journal, ControlRow.KEY)])
    rows.tables.drop(2)
    assert set(rows.index.read([KEY, journal, ControlRow.KEY])) == {KEY, journal, ControlRow.KEY}
