"""Proposals: edits that wait for a person's decision.

It promises that of all decisions on one proposal that one home puts, one holds, and that every region which has seen
the same records has the same rows. What a proposal asks for is in no listing, search or context.

Read first: `proposal_log`, which puts and projects the records. The use cases are in `memolith.app.api.proposals`, the
rules in `memolith.core.proposals`.
"""
