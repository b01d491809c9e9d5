"""A proposal's row is the same, in whatever order its records and a redaction of what it planned are joined into it."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import permutations

import pytest

from memolith.core.limits import PROPOSAL_KEPT_US
from memolith.core.log_position import Epoch
from memolith.core.object_keys import ProposalKey
from memolith.core.objects.proposal_record import ProposalRecord, ProposalStep
from memolith.core.proposals import due_at, is_pending, join, key_of, shows, with_erasure, with_redaction
from memolith.core.rows.proposals import ProposalRow

EPOCH = str(Epoch(1, "us-east-1"))
DECIDED_AT = 100


def _record(step: ProposalStep) -> ProposalRecord:
    outcome = "rejected" if step == ProposalStep.DECIDED else None
    return ProposalRecord("memstore_1", "prop_1", step, EPOCH, DECIDED_AT, "person", outcome=outcome)


OPENED, DECIDED, ERASED = (_record(step) for step in (ProposalStep.OPENED, ProposalStep.DECIDED, ProposalStep.ERASED))


def _joined(*facts: ProposalRecord | None) -> ProposalRow:
    """None stands for the redaction."""
    empty = ProposalRow(store_id="memstore_1", proposal_id="prop_1")
    return reduce(lambda row, fact: with_redaction(row) if fact is None else join(row, fact), facts, empty)


@pytest.mark.parametrize("facts", [(OPENED, DECIDED, None), (OPENED, DECIDED, None, ERASED)])
def test_a_redaction_and_the_records_of_a_proposal_come_to_one_row_in_any_order(
    facts: tuple[ProposalRecord | None, ...],
) -> None:
    assert all(_joined(*some, *some) == _joined(*facts) for some in permutations(facts))


def test_texts_of_a_decided_proposal_are_due_after_their_time_and_at_once_when_a_version_is_redacted() -> None:
    assert due_at(_joined(OPENED, DECIDED)) == DECIDED_AT + PROPOSAL_KEPT_US
    assert due_at(_joined(OPENED, DECIDED, None)) == DECIDED_AT
    assert due_at(_joined(OPENED, DECIDED, None, ERASED)) is None


def test_a_proposal_is_pending_until_it_is_decided_or_expires_and_not_once_its_texts_are_erased() -> None:
    """One that is erased without a decision is what a failover leaves that lost the decision."""
    opened = join(None, replace(OPENED, expires_at=200))
    assert is_pending(opened, 199) and not is_pending(opened, 200)
    assert not is_pending(join(opened, DECIDED), 199)
    assert not is_pending(join(opened, ERASED), 199)


def test_an_order_to_erase_is_shown_once_its_arrival_was_handled_or_the_texts_are_erased() -> None:
    key = ProposalKey("us-east-1", "memstore_1", "prop_1", ProposalStep.ERASED)
    known, arrived = _joined(OPENED, DECIDED, ERASED), join(_joined(OPENED, DECIDED), ERASED, arrived=True)
    assert [shows(row, key) for row in (known, with_erasure(known), arrived)] == [False, True, True]
    assert with_erasure(known) == arrived
    assert join(arrived, ERASED) == arrived


def test_a_row_with_one_homes_decision_does_not_show_the_decision_of_another_home_or_of_a_later_term() -> None:
    row = _joined(OPENED, DECIDED)
    [known, elsewhere] = (replace(DECIDED, epoch=str(Epoch(2, home))).key(home) for home in ("us-east-1", "eu-west-1"))
    again = replace(DECIDED, epoch=str(Epoch(3, "us-east-1")), turn=1)
    assert [shows(row, key) for key in (known, elsewhere, again.key("us-east-1"))] == [True, False, False]
    assert key_of(row, ProposalStep.DECIDED) == known
    assert key_of(join(row, again), ProposalStep.DECIDED) == again.key("us-east-1")
