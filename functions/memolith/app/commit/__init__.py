"""Commits: how a command on a memory becomes an entry of the log, at the store's home.

It promises that an entry is decided on the head that it follows, that nothing is answered which the log could
contradict, and that a call which lands in another region runs at the home once.

Read first: `writer`, the loop. Then `attempt`, what one command carries through it; `sync_replica` for stores that wait
for a second region; `forwarding` to the home; `adoption` and `late_records` for what a lost home had written.
"""
