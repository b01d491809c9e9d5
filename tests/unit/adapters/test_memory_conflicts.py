"""Transactions of the memory adapter conflict as DynamoDB's do, where it is told to let them take time.

Source: DynamoDB developer guide, "Transaction conflict handling in DynamoDB".
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memolith.adapters.memory import MemoryDatabase, MemoryIndex
from memolith.core.rows.base import RowKey
from memolith.ports.errors import Contended
from memolith.ports.index import Change

ONE, TWO = RowKey("memories", "store", "one"), RowKey("memories", "store", "two")
HERE = {"value": "before"}


class Meanwhile:
    """What happens while the first transaction holds its rows; whatever it does itself takes no time."""

    def __init__(self) -> None:
        self.act: Callable[[], None] | None = None

    def __call__(self) -> None:
        act, self.act = self.act, None
        if act is not None:
            act()


@pytest.fixture
def meanwhile() -> Meanwhile:
    return Meanwhile()


@pytest.fixture
def index(meanwhile: Meanwhile) -> MemoryIndex:
    index = MemoryIndex(MemoryDatabase(hold=meanwhile))
    index.commit([Change(ONE, None, HERE), Change(TWO, None, HERE)])
    return index


def checked_and_written(key: RowKey, other: RowKey) -> list[Change]:
    return [Change(key, HERE, HERE), Change(other, None, HERE)]


def of(name: str) -> RowKey:
    return RowKey("memories", "store", name)


def test_two_transactions_that_only_check_one_row_conflict(index: MemoryIndex, meanwhile: Meanwhile) -> None:
    def another() -> None:
        with pytest.raises(Contended):
            index.commit(checked_and_written(ONE, of("by another")))

    meanwhile.act = another
    index.commit(checked_and_written(ONE, of("by the first")))
    assert set(index.read([of("by the first"), of("by another")])) == {of("by the first")}


def test_a_single_write_conflicts_with_a_transaction_under_way(index: MemoryIndex, meanwhile: Meanwhile) -> None:
    def another() -> None:
        with pytest.raises(Contended):
            index.commit([Change(ONE, HERE, {"value": "by another"})])

    meanwhile.act = another
    index.commit(checked_and_written(ONE, of("new")))
    assert index.read([ONE]) == {ONE: HERE}


def test_an_unconditional_write_conflicts_too(index: MemoryIndex, meanwhile: Meanwhile) -> None:
    def another() -> None:
        with pytest.raises(Contended):
            index.commit([Change(ONE, None, {"value": "by another"}, unconditional=True)])

    meanwhile.act = another
    index.commit(checked_and_written(ONE, of("new")))
    assert index.read([ONE]) == {ONE: HERE}


def test_transactions_on_different_rows_do_not_conflict(index: MemoryIndex, meanwhile: Meanwhile) -> None:
    meanwhile.act = lambda: index.commit(checked_and_written(TWO, of("by another")))
    index.commit(checked_and_written(ONE, of("by the first")))
    assert len(index.read([of("by the first"), of("by another")])) == 2


def test_a_single_write_holds_nothing(index: MemoryIndex, meanwhile: Meanwhile) -> None:
    meanwhile.act = lambda: pytest.fail("one row needs no transaction")
    index.commit([Change(ONE, HERE, {"value": "after"})])
    assert index.read([ONE]) == {ONE: {"value": "after"}}


def test_reads_see_the_rows_as_they_were_while_a_transaction_is_under_way(
    index: MemoryIndex, meanwhile: Meanwhile
) -> None:
    seen = list[object]()
    meanwhile.act = lambda: seen.append(index.read([ONE])[ONE])
    index.commit([Change(ONE, HERE, {"value": "after"}), Change(TWO, HERE, HERE)])
    assert seen == [HERE] and index.read([ONE]) == {ONE: {"value": "after"}}


def test_rows_are_free_again_when_their_transaction_has_ended(index: MemoryIndex, meanwhile: Meanwhile) -> None:
    index.commit(checked_and_written(ONE, of("first")))
    index.commit(checked_and_written(ONE, of("second")))
    assert len(index.read([of("first"), of("second")])) == 2


def test_a_transaction_whose_caller_dies_ends_all_the_same(index: MemoryIndex, meanwhile: Meanwhile) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    meanwhile.act = die
    with pytest.raises(KeyboardInterrupt):
        index.commit(checked_and_written(ONE, of("of the dead")))
    assert of("of the dead") in index.read([of("of the dead")])
    index.commit([Change(ONE, HERE, {"value": "free"})])


def test_conflicts_are_counted(meanwhile: Meanwhile) -> None:
    database = MemoryDatabase(hold=meanwhile)
    index = MemoryIndex(database)

    def another() -> None:
        with pytest.raises(Contended):
            index.commit([Change(ONE, None, HERE)])

    meanwhile.act = another
    index.commit([Change(ONE, None, HERE), Change(TWO, None, HERE)])
    assert database.refused == 1
