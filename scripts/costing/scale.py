"""The tables of docs/scale.md: what counted calls come to with many memories, and which limit is met first.

A model, stated here: nothing of this size was run. What a call uses is counted (`paths`, `standing`); how long a
processor takes for one object was measured on one core, and what a Lambda function has of a core follows its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from memolith.core.rows.journal import SHARDS_MAX
from scripts.costing import prices, standing
from scripts.costing.paths import READS, WRITES, dollars, stored_bytes, used

DOCUMENT = prices.ROOT / "docs" / "scale.md"
MEMORIES = (10**6, 10**7, 10**8, 10**9)
REGIONS = (1, 2, 4, 8)
UPDATES_A_MONTH, READS_A_MONTH = 1, 10
"""Of each memory: what is written and read goes with what there is."""

VERSIONS = 2
"""Of each memory, kept with their text."""

FOLD_MS = 5.0
"""Of one core, measured with boto3: an object that is read and projected."""

COMPARING_S = prices.declared("functions/memolith/entry/compose_reconciler.py", r"COMPARING_US = (\d+)_000_000")
COMPARISONS = 3
"""That share the time of one invocation, where that of the listing is not made in parts."""

PARTS = 40
INDEXERS = prices.declared("infra/deployment.py", r"indexer_concurrency: int = (\d+)")
HOLD_MS = 20
"""For how long a transaction of DynamoDB holds its rows, when it is slow."""

PARTITION_WRITES, PARTITION_READS = 1_000, 3_000
"""Units a second. Source: Amazon DynamoDB developer guide, "Best practices for designing and using partition keys"."""


def month(memories: int, regions: int) -> dict[str, float]:
    """Return the dollars of a month, by what they are for, of a deployment."""
    parts = {
        "writes": memories * UPDATES_A_MONTH * _of(lambda count: _each(used(WRITES[0], count)), regions) / 1_000_000,
        "reads": memories * READS_A_MONTH * _dollars_of_read() / 1_000_000,
        "storage": memories * VERSIONS * regions * _stored(),
        "walks": regions * standing.DAYS_A_MONTH * _walked_a_day(memories),
        "schedules": regions * _of(_scheduled, regions),
    }
    return {**parts, "in all": sum(parts.values())}


def _each(by_region: Mapping[str, Mapping[str, float]]) -> float:
    return sum(sum(dollars(dict(units)).values()) for units in by_region.values())


def _of(count: Callable[[int], float], regions: int) -> float:
    """Return what `count` says of so many regions: counted up to three, and as much again for each one more."""
    if regions <= 3:
        return count(regions)
    return count(3) + (regions - 3) * (count(3) - count(2))


def _scheduled(regions: int) -> float:
    minutes = standing.MINUTES_A_MONTH / 1_000_000
    checkpoints = standing.CHECKPOINTS_A_DAY * standing.DAYS_A_MONTH * prices.PRICES["get"].of_one * (regions - 1)
    audited = standing.AUDITED_A_MONTH * prices.PRICES["get"].of_one
    return sum(_each(used(path, regions)) for path in standing.SCHEDULES) * minutes + checkpoints + audited


@cache
def _dollars_of_read() -> float:
    return _each(used(READS[0], 1))


@cache
def _stored() -> float:
    objects, rows = stored_bytes()
    return objects * prices.S3_STORAGE.of_one + rows * prices.DYNAMODB_STORAGE.of_one


def _walked_a_day(memories: int) -> float:
    """Return the dollars of a day's walks in one region: of the first, for every version."""
    listing, *others = (_of_one(walk) for walk in standing.WALKS)
    return memories * VERSIONS * listing + memories * sum(others)


@cache
def _of_one(walk: standing.Walk) -> float:
    return sum(dollars(standing.of_one_memory(walk)).values()) / 1_000_000


def compared_a_second() -> float:
    """Return how many versions one function compares with its bucket in a second."""
    return 1_000_000 / standing.COMPARED_US * prices.MEMORY_MB["reconciler"] / standing.VCPU_MB


def compared_after(versions: int, parts: int = 1) -> float:
    """Return after how many seconds so many versions are compared, in so many parts: each works for part of an hour."""
    seconds = versions / compared_a_second() / parts
    an_hour = COMPARING_S if parts > 1 else COMPARING_S / COMPARISONS
    return seconds // an_hour * 3_600 + seconds % an_hour


def rebuilt_a_second(indexers: int = INDEXERS) -> float:
    """Return how many objects a rebuild projects in a second."""
    return indexers * 1_000 / FOLD_MS * prices.MEMORY_MB["indexer"] / standing.VCPU_MB


def _costs() -> str:
    head = ["memories", *(f"{count} region{'s' if count > 1 else ''}" for count in REGIONS)]
    rows = [[f"{many:,}", *(f"{month(many, count)['in all']:,.0f}" for count in REGIONS)] for many in MEMORIES]
    return _table(head, rows)


def _parts() -> str:
    head = ["of 1,000,000 memories", *(f"{count} region{'s' if count > 1 else ''}" for count in REGIONS)]
    bills = [month(10**6, count) for count in REGIONS]
    return _table(head, [[part, *(f"{bill[part]:,.2f}" for bill in bills)] for part in bills[0]])


def _times() -> str:
    comparisons = ["a comparison of all versions", f"the same, {PARTS} parts"]
    head = ["memories", *comparisons, f"a rebuild, {INDEXERS} indexers", "a rebuild, 200 indexers"]
    rows = []
    for many in MEMORIES:
        versions = many * VERSIONS
        compared = (compared_after(versions), compared_after(versions, PARTS))
        rebuilt = (versions / rebuilt_a_second(), versions / rebuilt_a_second(200))
        rows.append([f"{many:,}", *map(_span, (*compared, *rebuilt))])
    return _table(head, rows)


def _limits() -> str:
    journal = SHARDS_MAX * 1_000 // HOLD_MS
    rows = [
        [
            "updates of one store",
            f"{PARTITION_WRITES // 2:,}",
            "its versions are one partition; a transaction counts twice",
        ],
        ["writes at home in one region", f"{journal:,}", f"{SHARDS_MAX} shards, {HOLD_MS} ms each, none idle"],
        ["of those, at ease", f"{journal // 5:,}", "a shard is held for a fifth of the time"],
        ["reads by id in one region", f"{PARTITION_READS:,}", "the marker of a table is one row"],
        ["processes at work in one region, in number", f"{PARTITION_READS:,}", "two units each, every two seconds"],
        [
            "calls while a rebuild is under way",
            f"{PARTITION_READS // 2:,}",
            "two units of one partition with each call",
        ],
        ["puts below one prefix", "3,500", "S3 splits a prefix by itself; a path's hash is in every key"],
    ]
    return _table(["what", "a second", "why"], rows, "---")


def _span(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:,.0f} seconds"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], last: str = "---:") -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 2), last], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {"costs": _costs, "parts": _parts, "times": _times, "limits": _limits}
