"""The fold is a join: any region that has met the same objects has the same rows, whatever the order or the repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith.adapters.memory import (
    ManualClock,
    MemoryBuckets,
    MemoryDatabase,
    MemoryIndex,
    MemoryObjects,
    MemoryPeers,
    OneByOne,
    RecordingMetrics,
    SeededRandomness,
)
from memolith.app.index.parts import IndexParts
from memolith.app.kernel.region import Region, View
from memolith.core.objects.redaction_order import Redaction
from memolith.core.resolved_entry import ResolvedEntry
from tests.support.examples import examples
from tests.unit.core.histories import History, Step, Unit, history, steps

TABLES = ("memories", "logs", "paths", "versions")
Rows = dict[str, dict[tuple[str, str], Mapping[str, Any]]]


def folded(units: list[Unit], *, at_once: bool = False, told: Sequence[int] = ()) -> Rows:
    """The rows of an index that met these units, one transaction each, or all in one call.

    Those whose numbers are in `told` are known from another region's answer, their objects unseen.
    """
    database = MemoryDatabase()
    index = MemoryIndex(database)
    region = Region(
        name="ap-south-1",
        regions=("us-east-1", "eu-west-1", "ap-south-1"),
        objects=MemoryObjects(MemoryBuckets(["ap-south-1"]), "ap-south-1"),
        index=index,
        clock=ManualClock(),
        randomness=SeededRandomness(),
        metrics=RecordingMetrics(),
        peers=MemoryPeers(),
        parallel=OneByOne(),
    )
    folder, view = IndexParts.of(region).projector, View(index, {}, complete=True, building=None)
    together: list[ResolvedEntry] = []
    for number, unit in enumerate(units):
        if isinstance(unit, Redaction):
            folder.fold_redaction(view, unit, unseen=number in told)
            if number not in told:
                folder.order_carried_out(view, unit)
        elif at_once:
            together += unit
        else:
            elsewhere = {one.entry.key for one in unit} if number in told else set()
            folder.fold(view, unit, elsewhere=elsewhere)
    folder.fold(view, together)
    return {name: {key: row for key, (_, _, row) in database.table(name, 1).order.rows.items()} for name in TABLES}


def listed(rows: Rows) -> dict[str, str]:
    """Path -> memory, as a listing would show it."""
    return {str(row["path"]): str(row["memory_id"]) for row in rows["paths"].values()}


@settings(max_examples=examples(60))
@given(steps, st.randoms(use_true_random=False))
def test_any_order_and_any_repeats_give_the_same_rows(given_steps: list[Step], random: Any) -> None:
    made = history(given_steps)
    in_order = folded(made.units)
    shuffled = made.units + made.units[::2]
    random.shuffle(shuffled)
    assert folded(shuffled) == in_order
    assert folded(made.units[::-1]) == in_order


@settings(max_examples=examples(40))
@given(steps, st.randoms(use_true_random=False))
def test_what_an_answer_told_is_unseen_until_its_object_is_folded_in_whatever_order(
    given_steps: list[Step], random: Any
) -> None:
    made = history(given_steps)
    order = [(unit, told) for unit in made.units for told in (True, False)]
    random.shuffle(order)
    units, told = [unit for unit, _ in order], [number for number, (_, told) in enumerate(order) if told]
    assert folded(units, told=told) == folded(made.units)
    told_alone = folded(made.units, told=range(len(made.units)))
    assert all(row.get("unseen") for row in told_alone["versions"].values())


@settings(max_examples=examples(40))
@given(steps, st.randoms(use_true_random=False))
def test_one_call_with_everything_gives_the_rows_of_many_calls(given_steps: list[Step], random: Any) -> None:
    made = history(given_steps)
    shuffled = list(made.units)
    random.shuffle(shuffled)
    assert folded(shuffled, at_once=True) == folded(made.units)


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(steps.map(lambda some: some[:4]))
def test_every_order_of_a_short_history_gives_the_same_rows(given_steps: list[Step]) -> None:
    units = history(given_steps).units[:5]
    expected = folded(units)
    for order in permutations(units):
        assert folded(list(order)) == expected


@settings(max_examples=examples(60))
@given(steps)
def test_the_rows_say_what_happened(given_steps: list[Step]) -> None:
    made = history(given_steps)
    rows = folded(made.units)
    assert listed(rows) == made.live()
    assert {row["version_id"] for row in rows["versions"].values()} == set(made.committed)
    _check_heads(made, rows)
    _check_texts(made, rows)


def _check_heads(made: History, rows: Rows) -> None:
    for id, head in made.heads.items():
        row = rows["memories"][head.store_id, id]
        assert (row["version_id"], row["generation"], row["slot"]) == (head.version_id, head.generation, head.slot)
        live = id in made.at.values() and head.version_id not in made.blanked
        assert row.get("path") == (head.path if live else None)


def _check_texts(made: History, rows: Rows) -> None:
    """Whatever once was blanked or ordered to be shows no path, no hash and no flag."""
    for (_, version_id), row in rows["versions"].items():
        if version_id in made.blanked:
            assert not {"path", "content_sha256", "content_size_bytes", "flags"} & set(row)
        else:
            assert row["path"] is not None


@settings(max_examples=examples(40))
@given(steps, st.integers(0, 30))
def test_what_was_met_later_never_brings_back_what_an_earlier_object_ended(given_steps: list[Step], cut: int) -> None:
    """At any moment a listing shows a memory at one path at most."""
    made = history(given_steps)
    rows = folded(made.units[cut:] + made.units[: cut // 2])
    assert len(set(listed(rows).values())) == len(listed(rows))
