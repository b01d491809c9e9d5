"""docs/cost.md says what the code costs; and what it is computed with measures as AWS bills."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memolith.core.rows.base import RowKey
from memolith.ports.index import Change
from scripts.costing.document import render
from scripts.costing.meter import Meter, commit_units, index_units, item_bytes, row_units
from scripts.costing.paths import HOME, READS, WRITES, dollars, used
from scripts.costing.prices import BATCH_SIZE, MEMORY_MB, PRICES, declared

ROW = RowKey("paths", "p" * 10, "s" * 10)
VERSION = RowKey("versions", "p" * 10, "s" * 10)


PAGE = (Path(__file__).parents[2] / "docs" / "cost.md").read_text()


def figures(row: str) -> list[float]:
    """The dollars in the first row of that name that has nothing else; `make cost` makes it."""
    cells = [line.split("|")[2:-1] for line in PAGE.splitlines() if line.startswith(f"| {row} |")]
    return next([float(cell) for cell in one] for one in cells if all(re.fullmatch(r" [\d.]+ ", cell) for cell in one))


def test_what_the_page_says_of_its_tables_is_in_them() -> None:
    *writes, idle = [figures(row) for row in ("update", "create", "rename", "delete", "**in all**")]
    shares = ", ".join(f"{(two - one) / one:.0%}" for one, two, _ in writes)
    assert shares == "67%, 67%, 71%, 71%"
    assert "costs about two thirds of the first**, and 71 % for a rename or a deletion" in PAGE
    assert f"some {idle[1] - idle[3]:.0f} $ a month in two regions" in PAGE


def test_a_document_without_its_places_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="places"):
        render("# What it costs\n")


def test_an_item_is_as_large_as_its_names_and_values() -> None:
    """DynamoDB: numbers are half their digits and one byte, a list or map three bytes and one for each element."""
    assert item_bytes(ROW, {}) == 2 + 10 + 2 + 10
    assert item_bytes(ROW, {"é": "é"}) - item_bytes(ROW, {}) == 1 + 2
    assert item_bytes(ROW, {"n": 1234}) - item_bytes(ROW, {}) == 1 + 3
    assert item_bytes(ROW, {"n": True}) - item_bytes(ROW, {}) == 1 + 1
    assert item_bytes(ROW, {"n": ["ab", "c"]}) - item_bytes(ROW, {}) == 1 + 3 + 3 + 2
    assert item_bytes(ROW, {"n": {"k": "v"}}) - item_bytes(ROW, {}) == 1 + 3 + 3


def change(size: int, key: RowKey = ROW, **attributes: str) -> Change:
    return Change(key, None, {"text": "x" * (size - item_bytes(key, {"text": ""} | attributes)), **attributes})


@pytest.mark.parametrize(("size", "units"), [(100, 1), (1_024, 1), (1_025, 2), (4_096, 4)])
def test_a_row_is_billed_by_the_kilobyte_and_twice_in_a_transaction(size: int, units: int) -> None:
    one, other = change(size), change(100, RowKey("logs", "p", "s"))
    assert commit_units([one]) == row_units(one) == units
    assert commit_units([one, other]) == 2 * units + 2


def test_the_larger_of_what_was_and_what_comes_is_billed() -> None:
    large, small = change(3_000).after, change(100).after
    assert row_units(Change(ROW, large, small)) == row_units(Change(ROW, small, large)) == 3
    assert row_units(Change(ROW, large, None)) == 3


def test_each_global_index_that_has_the_row_is_billed_once() -> None:
    keys = {"memory_key": "m", "generation_key": "g", "time_key": "t"}
    assert index_units(change(100, VERSION, **keys)) == 2
    assert index_units(change(100, VERSION, time_key="t")) == 1
    assert index_units(change(100, VERSION)) == 0
    whole = change(100, VERSION, **keys)
    assert index_units(Change(VERSION, whole.after, whole.after)) == 0, "a check writes nothing"
    assert commit_units([whole, change(100)]) == 2 + 2 + 2


def test_what_is_done_at_once_takes_as_long_as_the_longest() -> None:
    meter = Meter()

    def taking(milliseconds: float) -> float:
        meter._running_ms[-1] += milliseconds
        return milliseconds

    with meter.function(HOME, "reader"):
        assert meter.run([lambda: taking(30), lambda: taking(10)]) == [30, 10]
    assert meter.units[HOME]["gb_s"] == pytest.approx(0.035 * MEMORY_MB["reader"] / 1_024)


def test_what_the_infrastructure_declares_is_read_from_it() -> None:
    assert BATCH_SIZE == 10 and MEMORY_MB["writer"] == 1_024
    with pytest.raises(ValueError, match="declares no"):
        declared("infra/constructs/functions/writer.py", r"memory_gb=(\d+)")


@pytest.mark.parametrize("regions", [1, 2, 3])
def test_a_write_is_one_put_a_region_and_everything_it_uses_has_a_price(regions: int) -> None:
    by_region = used(WRITES[0], regions)
    assert [units["put"] for units in by_region.values()] == [1] * regions
    assert all(set(dollars(units)) <= set(PRICES) for units in by_region.values())


def test_a_read_uses_nothing_elsewhere() -> None:
    home, away = used(READS[0], 2).values()
    assert home["get"] == 1 and away == {}
