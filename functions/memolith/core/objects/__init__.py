"""The objects that are put into S3: each with its parser, and all with the number of their schema.

A reader ignores fields that it does not know, so that an older region can read what a newer one wrote.

Read first: `entry`, one version of a memory in its log. Then `store_record`, `epoch_cut` and `redaction_order`; the
others are records of keys, sessions, verdicts, checkpoints and search packs.
"""
