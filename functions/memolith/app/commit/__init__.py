"""Commits: how a command on a memory becomes an entry of the log, at the store's home.

It promises that an entry is decided on the head that it follows, that nothing is answered which the log could
contradict, and that a call which lands in another region runs at the home once.

Read first: `writer`, the loop that carries out what `memolith.core.decide` decides. `facts` reads what a decision asks
for. `log_steps` has the single steps; `reservation`, `create` and `rename` have the longer ones; `attempt` is what one
command carries through all of them. `sync_replica` is for stores that wait for a second region, and `forwarding` leads
to the home. `adoption` and `late_records` replay what a lost home had written.
"""
