"""What a dream keeps while it is under way, so that it can go on after its worker died: answers, and the plan.

    local/dream/{store_id}/{run_id}/{name}

A worker puts a mark, `begun.{token}`, before it reads what its steps rest on. Every erasure removes it with the steps:
a worker that does not find its mark after it kept a step may have kept what was to be erased, and one that does not
find it before a write may be about to write that.
It puts another, `asked.{number}.{token}`, before it asks a question, so that one which no worker lives to see answered
is not asked for ever.

It holds texts. So it stands outside replication, in the bucket of the store's home alone, and is removed when the dream
is over, with the store, and with the erasure of any text of the store, of what the dream writes into, or of a session
that it reads: a dream that lacks it asks again.
"""

from __future__ import annotations

PREFIX = "local/dream/"
PLAN = "plan"


def steps_prefix(store_id: str, run_id: str | None = None) -> str:
    """Return what the keys of a store's steps begin with, or of one dream's."""
    return f"{PREFIX}{store_id}/" + (f"{run_id}/" if run_id else "")


def step_key(store_id: str, run_id: str, name: str) -> str:
    """Return the key of one step: `PLAN`, the hash of a question, or a mark."""
    return f"{steps_prefix(store_id, run_id)}{name}"


def begun_mark(token: str) -> str:
    """Return the name of the mark of a worker, by the token of its claim."""
    return f"begun.{token}"


def asked_marks(number: int) -> str:
    """Return what the names of the marks begin with that workers put before they ask a question of a dream."""
    return f"asked.{number}."


def named_dream(key: str) -> tuple[str, str]:
    """Return what stands in a step's key for its store and its dream."""
    store_id, _, rest = key.removeprefix(PREFIX).partition("/")
    return store_id, rest.partition("/")[0]
