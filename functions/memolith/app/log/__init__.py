"""The log: objects in S3 that are put once and never change. They are the truth that the index is made of.

It promises that a slot is taken by exactly one conditional put, and that a reply that was lost is settled by
reading the slot. Nothing here reads or writes a row of the index.

Read first: `conditional_put`, the commit itself. Then `log_reader`, which finds entries and tails; `store_log`, the
same for the records of stores; and `epoch_snapshot`, what each epoch of a store began with.
"""
