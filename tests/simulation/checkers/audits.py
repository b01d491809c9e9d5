"""What an audit is promised to say: nothing of a home that is as it was acknowledged, and what was done, by name."""

from __future__ import annotations

from collections.abc import Iterator

from memolith.core.audit import Flaw
from tests.simulation.evidence import Evidence


def an_audit_names_what_was_done(evidence: Evidence) -> Iterator[str]:
    """Each thing that was done to a home's bucket is found, at its key and with its class."""
    for audited in evidence.audits:
        if missed := sorted(audited.expected - audited.found):
            yield f"{audited.home}, {audited.done}: the audit does not say {missed}, but {sorted(audited.found)}"


def an_audit_names_nothing_else(evidence: Evidence) -> Iterator[str]:
    """What was not touched is intact; but what only a listing names, because the journal was lost, is not proven."""
    for audited in evidence.audits:
        if not audited.alone:
            continue
        for flaw, key in sorted(audited.found - audited.expected):
            if flaw != Flaw.UNACKNOWLEDGED or not evidence.journals_lost:
                yield f"{audited.home}, {audited.done or 'untouched'}: the audit calls {key} {flaw}"


def a_region_folds_no_checkpoint_out_of_the_chain(evidence: Evidence) -> Iterator[str]:
    """One that its home's key signed is objected to all the same where it does not follow the last one, or is not the
    one that this region saw there before its tables were made anew.
    """
    for one in evidence.deceived:
        if one.folded:
            yield f"{one.region} folded a checkpoint of {one.home}'s period {one.period} that is not the true one"
