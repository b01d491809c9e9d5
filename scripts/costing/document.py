"""The tables of docs/cost.md, between markers; everything else there is prose, and left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from scripts.costing import agents, idle, pipelines, prices, standing
from scripts.costing.meter import Units
from scripts.costing.paths import (
    ALONE,
    FORWARDED,
    HOME,
    IMPORTS,
    LISTED,
    READS,
    REGIONS,
    WRITES,
    NothingFound,
    Path,
    Suspicious,
    dollars,
    in_two_regions,
    second_look,
    stored_bytes,
    used,
)

DOCUMENT = prices.ROOT / "docs" / "cost.md"
ITEMS = {
    "S3 PUT": ("put",),
    "S3 GET, HEAD": ("get",),
    "DynamoDB writes": ("wru",),
    "DynamoDB reads": ("rru",),
    "Lambda": ("invocation", "gb_s"),
    "SQS": ("sqs",),
    "HTTP API": ("http",),
    "transfer, replication time control": ("transfer_bytes", "timed_bytes"),
}
"""What the bill's lines are made of."""

_BLOCK = r"(<!-- {0}: begin -->\n).*?(<!-- {0}: end -->)"


def render(text: str, tables: Mapping[str, Callable[[], str]] | None = None) -> str:
    """Return the document with its tables made again. Raises ValueError where a table's markers are missing."""
    for name, make in (TABLES if tables is None else tables).items():
        pattern = re.compile(_BLOCK.format(name), re.DOTALL)
        table = make()
        text, found = pattern.subn(lambda match, table=table: f"{match[1]}{table}\n{match[2]}", text)  # type: ignore[misc]  # a lambda with a default has no type
        if found != 1:
            raise ValueError(f"the page has {found} places for the table {name!r}, not one")
    return text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _total(by_region: Mapping[str, Units]) -> float:
    return sum(sum(dollars(units).values()) for units in by_region.values())


def _money(amount: float) -> str:
    return f"{amount:.2f}"


def _writes() -> str:
    head = ["a million of", "1 region", "2 regions", "3 regions"]
    rows = [[path.name, *(_money(_total(used(path, count))) for count in (1, 2, 3))] for path in WRITES]
    rows += [[path.name, "", *(_money(_total(used(path, count))) for count in (2, 3))] for path in FORWARDED]
    rows += [[path.name, *(_money(_total(used(path, count))) for count in (1, 2, 3))] for path in ALONE]
    return _table(head, rows)


def _imports() -> str:
    head = ["a million of", "1 region", "2 regions", "3 regions"]
    rows = []
    for path in IMPORTS:
        counts = (2, 3) if path.at != HOME else (1, 2, 3)
        told = [_money(_total(used(path, count))) for count in counts]
        rows.append([path.name, *[""] * (3 - len(told)), *told])
    return _table(head, rows)


def _reads() -> str:
    rows = [[path.name, _money(_total(used(path, 1)))] for path in READS]
    return _table(["a million of", "$"], rows)


def _sessions() -> str:
    head = ["a million of", "1 region", "2 regions", "3 regions"]
    paths = (*agents.SESSIONS, *agents.TOOLS)
    return _table(head, ([path.name, *(_money(_total(used(path, count))) for count in (1, 2, 3))] for path in paths))


def _pipelines() -> str:
    head = ["a thousand of", "1 region", "2 regions", "3 regions"]
    rows = []
    for path in pipelines.PIPELINES:
        rows.append([path.name, *(f"{_total(used(path, count)) / 1_000:.3f}" for count in (1, 2, 3))])
    return _table(head, rows)


def _demanded() -> str:
    return _table(["a million of", "$"], ([path.name, _money(_total(used(path, 2)))] for path in agents.READS))


def _standing() -> str:
    head = ["every month, in each region", "of 1", "of 2", "of 3"]
    month = standing.MINUTES_A_MONTH / 1_000_000
    rows = [
        [path.name, *(_money(_total(used(path, count)) * month) for count in (1, 2, 3))] for path in standing.SCHEDULES
    ]
    checkpoints = standing.CHECKPOINTS_A_DAY * standing.DAYS_A_MONTH * prices.PRICES["get"].of_one
    rows.append(["other homes' checkpoints of a week, read once a day", *(_money(checkpoints * n) for n in (0, 1, 2))])
    audited = _money(standing.AUDITED_A_MONTH * prices.PRICES["get"].of_one)
    rows.append(["the hourly audit of this home's own checkpoints and versions, at most", audited, audited, audited])
    return _table(head, rows)


def _idle() -> str:
    forms = list(idle.COUNTED)
    head = ["a month, in all regions", *(f"{form}, {regions} region{'s' * (regions > 1)}" for form, regions in forms)]
    bills = [idle.month(*form) for form in forms]
    return _table(head, ([part, *(_money(bill[part]) for bill in bills)] for part in bills[0]))


def _walks() -> str:
    head = ["once a day, for a million memories", "LIST", "HEAD", "RRU", "WRU", "$ a day", "$ a month"]
    rows = []
    for walk in standing.WALKS:
        units = standing.of_one_memory(walk)
        daily = sum(dollars(units).values())
        counts = [f"{units.get(name, 0) * 1_000_000:,.0f}" for name in ("put", "get", "rru", "wru")]
        rows.append([walk.name, *counts, _money(daily), _money(daily * standing.DAYS_A_MONTH)])
    return _table(head, rows)


def _broken_down() -> str:
    columns = [(path, count) for path in WRITES[:2] for count in (1, 2, 3)]
    head = ["", *(f"{path.name}, {count}" for path, count in columns)]
    bills = [_by_item(used(path, count)) for path, count in columns]
    rows = [[item, *(_money(bill[item]) for bill in bills)] for item in ITEMS]
    rows.append(["**in all**", *(f"**{_money(sum(bill.values()))}**" for bill in bills)])
    return _table(head, rows)


def _by_item(by_region: Mapping[str, Units]) -> dict[str, float]:
    prices_of = [dollars(units) for units in by_region.values()]
    return {item: sum(one.get(name, 0) for one in prices_of for name in names) for item, names in ITEMS.items()}


def _counted() -> str:
    head = ["one", "where", "PUT", "GET, HEAD", "WRU", "RRU", "SQS", "Lambda", "GB-s"]
    rows = []
    for path in (*WRITES, *FORWARDED, *IMPORTS[1:], *READS):
        for region, units in used(path, 2).items():
            if units:
                rows.append([path.name, _where(path, region), *_uses(units)])
    return _table(head, rows)


def _where(path: Path, region: str) -> str:
    if path.function == "reader":
        return "any region"
    if region == HOME:
        return "home"
    return "where it landed" if region == path.at else "each other region"


def _uses(units: Units) -> list[str]:
    names = ("put", "get", "wru", "rru", "sqs", "invocation", "gb_s")
    return [f"{units[name]:.3g}" if units.get(name) else "" for name in names]


def _by_size() -> str:
    head = ["path of", "WRU at home", "WRU in each other region", "$ in 1 region", "$ in 2 regions"]
    rows = []
    for size in (len(prices.PATH), 200, 400, 1_024):
        path = "/" + "p" * (size - 1)
        alone, pair = used(WRITES[0], 1, path), used(WRITES[0], 2, path)
        units = [f"{pair[region]['wru']:.0f}" for region in REGIONS[:2]]
        rows.append([f"{size:,} bytes", *units, _money(_total(alone)), _money(_total(pair))])
    return _table(head, rows)


def _second_look() -> str:
    head = ["a million of", "1 region", "2 regions", "3 regions"]
    looks = {
        "second looks that find nothing": NothingFound(),
        "second looks that flag or withhold, with their verdicts": Suspicious(),
    }
    rows = [[name, *(_money(second_look(deep, count)) for count in (1, 2, 3))] for name, deep in looks.items()]
    return _table(head, rows)


def _durable() -> str:
    head = ["a million of", "$, one_region", "$, two_regions", "ms, one_region", "ms, two_regions"]
    rows = []
    for path in WRITES:
        one, two = in_two_regions(path, "one_region"), in_two_regions(path, "two_regions")
        money = [_money(_total(used_by)) for used_by, _ in (one, two)]
        rows.append([path.name, *money, *(f"{took_ms:.0f}" for _, took_ms in (one, two))])
    return _table(head, rows)


def _storage() -> str:
    object_bytes, row_bytes = stored_bytes()
    monthly = {
        "S3": object_bytes * prices.S3_STORAGE.of_one * 1_000_000,
        "DynamoDB, with both global indexes": row_bytes * prices.DYNAMODB_STORAGE.of_one * 1_000_000,
    }
    sizes = dict(zip(monthly, (object_bytes, row_bytes), strict=True))
    rows = [[name, f"{sizes[name]:,}", _money(amount)] for name, amount in monthly.items()]
    return _table(["kept for a million versions, in each region", "bytes each", "$ a month"], rows)


def _prices() -> str:
    listed = [*prices.PRICES.values(), prices.S3_STORAGE, prices.DYNAMODB_STORAGE, *prices.IDLE]
    rows = [[one.what, f"{one.dollars:g} for {_many(one)}", f"[aws.amazon.com]({one.source})"] for one in listed]
    return _table(["what", "$", "source"], rows)


def _many(price: prices.Price) -> str:
    if price.each == 1:
        return "one"
    return "a GB" if price.unit == "bytes" else f"a million {price.unit}"


def _assumptions() -> str:
    rows = [[name, f"{duration:g} ms"] for name, duration in prices.DURATIONS_MS.items()]
    rows += [
        ["the same, to another region", f"{prices.FAR_MS:g} ms more"],
        ["a function's own work, once", f"{prices.OWN_MS:g} ms"],
        ["memory of reader, writer, peerreader, peerwriter, scanner and mcp", f"{prices.MEMORY_MB['writer']:,} MB"],
        ["memory of indexer, eraser, reconciler and tool", f"{prices.MEMORY_MB['indexer']:,} MB"],
        ["memory of dreamer", f"{prices.MEMORY_MB['dreamer']:,} MB"],
        ["events in one batch of the indexer's, versions in one of the scanner's", str(prices.BATCH_SIZE)],
        [
            "calls that a process serves in the two seconds for which it remembers which tables serve",
            str(prices.BATCH_SIZE),
        ],
        ["a memory's content", f"{prices.CONTENT_BYTES:,} bytes"],
        ["a memory's path", f"{len(prices.PATH)} bytes"],
        ["memories on a page", str(LISTED)],
    ]
    return _table(["assumed", "value"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "writes": _writes,
    "broken down": _broken_down,
    "imports": _imports,
    "two regions": _durable,
    "reads": _reads,
    "sessions": _sessions,
    "pipelines": _pipelines,
    "demanded": _demanded,
    "standing": _standing,
    "idle": _idle,
    "walks": _walks,
    "by size": _by_size,
    "second look": _second_look,
    "storage": _storage,
    "counted": _counted,
    "prices": _prices,
    "assumptions": _assumptions,
}
