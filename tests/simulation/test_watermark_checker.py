"""The checker of watermarks, on claims made by hand: what it objects to, and what it lets pass."""

from __future__ import annotations

import pytest

from memolith.core.log_position import Epoch, LogRef, Slot
from memolith.core.rows.content import VersionRow
from tests.simulation.checkers.watermarks import the_watermark_never_claims_what_is_missing
from tests.simulation.evidence import Evidence, Written
from tests.simulation.history import Claim, History

STORE, VERSION = "memstore_a", "memver_a"
LOST = Epoch(2, "ap-south-1")
ORIGINAL = str(LogRef("ec2d", Slot(Epoch(1, "us-east-1"), 9)))
ADOPTED = str(LogRef("ec2d", Slot(LOST, 1)))


def _evidence(lost: frozenset[Epoch], late: dict[str, str]) -> Evidence:
    """One region adopted a late version at time 10; another says later that it has all of that region's up to 20."""
    adopter = Claim("ap-south-1", 1, {}, frozenset({VERSION}), {VERSION: ADOPTED}, shown_us=10)
    other = Claim("eu-west-1", 2, {"ap-south-1": 20}, frozenset({VERSION}), {}, late)
    late_key = VersionRow.late_key(STORE, VERSION)
    return Evidence(
        history=History(claims=[adopter, other]),
        final={},
        rows={"eu-west-1": {"versions": {(STORE, late_key.sk): {}}}},
        rebuilt={},
        stored={},
        objects={},
        homes={},
        wiped={},
        defects=[],
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
