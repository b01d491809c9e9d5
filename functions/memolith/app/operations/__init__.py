"""What an operator sees and does: the state of a region, its queues, and messages that were set aside.

It promises to change nothing by looking, and to show no content of a memory.

Read first: `operator`.
"""
