"""Of two workers one has the job: claims, ends and edits, as their records and versions in the buckets tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.checkers import exceptions
from tests.simulation.evidence import Evidence
from tests.simulation.workers import Kept

_OVER = ("completed", "failed", "canceled")
_DREAMT = re.compile(rb"dreamt of (memver_[0-9a-z]{26}) by ")


def a_record_of_a_job_is_put_once(evidence: Evidence) -> Iterator[str]:
    """No claim, and no end, is written over: whoever was told that the job is his stands in its log."""
    for one in evidence.worked.jobs:
        if one.puts != 1:
            yield f"record {one.body['sequence']} of {one.home} was put {one.puts} times"


def a_claim_holds_for_its_lease(evidence: Evidence) -> Iterator[str]:
    """Nobody takes a job away from a worker in the same epoch before the lease is over, or the worker has ended."""
    homes = {one.home for one in evidence.worked.jobs}
    for home in sorted(homes):
        records = [one.body for one in evidence.worked.jobs if one.home == home]
        for before, after in pairwise(sorted(records, key=lambda record: (record["epoch"], record["sequence"]))):
            if before["epoch"] != after["epoch"] or before["event"] not in ("claimed", "beat"):
                continue
            if after["token"] not in (before["token"], "") and after["at"] < before["lease_until"]:
                yield f"{home} gave a job to another at {after['at']}, which was held until {before['lease_until']}"


def one_run_of_a_watermark_counts(evidence: Evidence) -> Iterator[str]:
    """Of each dream one run is ended as done, and the watermark of a job never goes back.

    In each epoch of a home: one that takes over, later or at once, need not have heard of what another one ended.
    """
    ended = Counter((one.body["epoch"], one.home, one.body["run_id"]) for one in _done(evidence))
    yield from (
        f"in epoch {epoch} of {home} {run_id} was done {times} times"
        for (epoch, home, run_id), times in ended.items()
        if times > 1
    )
    by_run = Counter(one.body["run_id"] for one in _done(evidence))
    if not exceptions.was_done_by_the_lost_home(evidence):
        yield from (f"{run_id} was done in {times} epochs" for run_id, times in by_run.items() if times > 1)


def a_job_is_done_once_its_run_is_over(evidence: Evidence) -> Iterator[str]:
    """What a job's record calls done had been done: its dream was over, with every edit applied, refused or dropped."""
    over = {(one.home, one.body["run_id"]): one.body for one in evidence.worked.runs if one.body["status"] in _OVER}
    for one in _done(evidence):
        run = over.get((one.home, one.body["run_id"]))
        if run is None or run["ended_at"] > one.body["at"]:
            yield f"{one.body['run_id']} is done since {one.body['at']}, and was not over: {run and run['ended_at']}"


def a_dream_changes_only_what_it_read(evidence: Evidence) -> Iterator[str]:
    """A dream's version follows the very version that it was made of. A rename by others keeps its text."""
    for version_id, one in evidence.worked.written.items():
        made_of = _DREAMT.match(one.text)
        parent = evidence.worked.written.get(one.parent or "")
        if made_of is None or (parent is not None and parent.text == one.text):
            continue
        if one.parent != made_of[1].decode():
            yield f"{version_id} follows {one.parent}, and was made of {made_of[1].decode()}"


def every_dream_ends(evidence: Evidence) -> Iterator[str]:
    """Whoever asked for a dream has its end at rest, whichever workers died over it, wherever the home is by now."""
    yield from (f"{run_id} is not over" for run_id in evidence.worked.unfinished)


def _done(evidence: Evidence) -> Iterator[Kept]:
    return (one for one in evidence.worked.jobs if one.body["event"] == "done")
