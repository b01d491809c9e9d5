"""What a person decides: proposals, which are edits that wait for it, and conflicts.

It promises that of all decisions on one proposal, or one conflict, that one home puts, one holds, and that every region
which has seen the same records has the same rows. What a proposal asks for is in no listing, search or context.

Read first: `proposal_log`, which puts and projects the records; `resolution_log` does the same for conflicts. The use
cases are in `memolith.app.api.proposals` and `memolith.app.api.conflict_resolution`, the rules in
`memolith.core.proposals` and `memolith.core.graph.disputes`.
"""
