"""Checkers and exceptions, on evidence made by hand: what they object to, and what they let pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.core.log_position import Epoch, LogRef, Slot
from memolith.core.rows.content import VersionRow
from tests.simulation.checkers.exceptions import deletion_stands_apart
from tests.simulation.checkers.watermarks import the_watermark_never_claims_what_is_missing
from tests.simulation.evidence import Apart, Evidence, Tables, Written
from tests.simulation.history import Claim, History, Operation

STORE, MEMORY, VERSION = "memstore_a", "mem_a", "memver_a"
LOST = Epoch(2, "ap-south-1")
ORIGINAL = str(LogRef("ec2d", Slot(Epoch(1, "us-east-1"), 9)))
ADOPTED = str(LogRef("ec2d", Slot(LOST, 1)))


def _with(history: History, rows: dict[str, Tables] | None = None) -> Evidence:
    """Evidence of a history and rows, and of nothing else."""
    return Evidence(
        history=history, final={}, rows=rows or {}, rebuilt={}, stored={}, objects={}, homes={}, wiped={}, defects=[]
    )


def _evidence(lost: frozenset[Epoch], late: dict[str, str]) -> Evidence:
    """One region adopted a late version at time 10; another says later that it has all of that region's up to 20."""
    adopter = Claim("ap-south-1", 1, {}, frozenset({VERSION}), {VERSION: ADOPTED}, shown_us=10)
    other = Claim("eu-west-1", 2, {"ap-south-1": 20}, frozenset({VERSION}), {}, late)
    late_key = VersionRow.late_key(STORE, VERSION)
    return replace(
        _with(History(claims=[adopter, other]), {"eu-west-1": {"versions": {(STORE, late_key.sk): {}}}}),
        written={VERSION: Written("us-east-1", ORIGINAL, adopted=True, stands=ADOPTED)},
        lost_terms={STORE: lost},
    )


def test_the_late_original_is_enough_of_what_was_adopted_in_a_term_that_does_not_count() -> None:
    assert not list(the_watermark_never_claims_what_is_missing(_evidence(frozenset({LOST}), {VERSION: ORIGINAL})))


@pytest.mark.parametrize(
    ("lost", "late"),
    [(frozenset[Epoch](), {VERSION: ORIGINAL}), (frozenset({LOST}), dict[str, str]())],
    ids=["the term counts and the late original alone is here", "the term does not count and nothing is here"],
)
def test_a_claim_without_what_was_adopted_is_objected_to(lost: frozenset[Epoch], late: dict[str, str]) -> None:
    (objection,) = the_watermark_never_claims_what_is_missing(_evidence(lost, late))
    assert f"lacks {VERSION}" in objection


def _deletion(answer: str | None, two_regions: bool) -> Evidence:
    """A store was taken over, and one deletion of a memory is divergent since."""
    asked = {"memory_id": MEMORY}
    deletion = Operation(0, "c0", "us-east-1", STORE, True, "delete", asked, 1, None if answer is None else 2, answer)
    return replace(
        _with(History(operations=[deletion])),
        two_regions=two_regions,
        taken_over={STORE: 1},
        apart={STORE: (Apart(VERSION, MEMORY, 3, "deleted", "/a", None),)},
    )


@pytest.mark.parametrize(
    ("answer", "two_regions", "excepted"),
    [(None, True, True), (MEMORY, True, False), (MEMORY, False, True), (None, False, True)],
)
def test_a_divergent_deletion_is_excepted_in_two_regions_only_if_nobody_was_told_of_it(
    answer: str | None, two_regions: bool, excepted: bool
) -> None:
    assert deletion_stands_apart(_deletion(answer, two_regions), STORE, MEMORY) is excepted
