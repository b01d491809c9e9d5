"""docs/api-compatibility.md says what the code does: its tables and its example are read and compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memolith.core import errors, limits
from memolith.core.errors import InvalidRequest, MemolithError
from memolith.wire.errors import MethodNotAllowed, UnknownRoute, failure_of
from memolith.wire.requests import BODY_MAX_BYTES, read_event
from memolith.wire.routes.table import KEY_ROUTES, PARAMETERS, ROUTES, Operation, find
from tests.api.harness import Backend
from tests.api.transport import to_event

PAGE = (Path(__file__).parents[2] / "docs" / "api-compatibility.md").read_text()


def section(number: str) -> str:
    """The text below one heading."""
    match = re.search(rf"^### {re.escape(number)} .*?(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None, f"the page has no section {number}"
    return match[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("|---")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def operation_of(cell: str) -> Operation:
    """The operation behind `METHOD /path` in the table of operations."""
    method, path = cell.strip("`").split(" ")
    path = path.replace("…", "/v1/memory_stores", 1)
    request = read_event(to_event(method, path.replace("{", "").replace("}", "")))
    operation, ids = find(request, (*ROUTES, *KEY_ROUTES))
    assert len(ids) == path.count("{")
    return operation


def test_every_operation_is_a_route_and_every_route_an_operation() -> None:
    documented = [operation_of(cells[1]).__name__ for cells in rows(section("1.1"))[1:]]
    served = [operation.__name__ for route in (*ROUTES, *KEY_ROUTES) for operation in route.methods.values()]
    assert sorted(documented) == sorted(served)
    assert len(served) == 81


def test_the_parameters_of_every_operation_are_the_codes_and_order_is_named_where_it_is_known() -> None:
    ordered = []
    for cells in rows(section("1.1"))[1:]:
        operation = operation_of(cells[1])
        named = {name.removesuffix("[]") for name in re.findall(r"`(\w+(?:\[\w*\])?)`", cells[2])}
        if "order" in named:
            ordered.append(cells[0])
        known = {name.removesuffix("[]") for name in PARAMETERS.get(operation, ())}
        assert named - {"order"} == known or operation.__name__ == "search_stores", operation.__name__
    assert ordered == ["list sessions", "list events"]
    assert "lists of sessions and of events alone know `order`" in section("1.2")


def test_the_table_of_errors_is_the_codes() -> None:
    documented = {(int(cells[0]), cells[1].strip("`")) for cells in rows(section("1.11"))[1:]}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MemolithError)]
    raised: list[Exception] = [UnknownRoute(), MethodNotAllowed(("GET",)), ValueError()]
    raised.append(InvalidRequest("content", "is too large", too_large=True))
    for kind in kinds:
        if kind is not MemolithError:
            error = kind.__new__(kind)
            vars(error).update(too_large=False, findings=(), conflicting_path="/a", conflicting_memory_id="")
            vars(error).update(as_of=0, complete_until=None, region="", object="", cause="", version_id="")
            error.message = "m"
            raised.append(error)
    answered = {(failure.status, failure.type) for failure in (failure_of(error, writes=True) for error in raised)}
    assert documented == answered


@pytest.mark.parametrize(
    "limit",
    [
        limits.CONTENT_MAX_BYTES,
        limits.PATH_MAX_BYTES,
        limits.PATH_MAX_SEGMENTS,
        limits.MEMORIES_PER_STORE_DEFAULT,
        limits.STORE_NAME_MAX_CHARS,
        limits.DESCRIPTION_MAX_CHARS,
        limits.METADATA_MAX_PAIRS,
        limits.METADATA_KEY_MAX_CHARS,
        limits.METADATA_VALUE_MAX_CHARS,
        limits.LIST_MAX,
        limits.LIST_MAX_FULL,
        BODY_MAX_BYTES,
    ],
)
def test_the_limits_are_the_codes(limit: int) -> None:
    assert re.search(rf"(?<![\d,]){limit:,}(?![\d,]*\d)", section("1.10"))


def test_a_cursors_lifetime_is_the_codes() -> None:
    days = limits.CURSOR_LIFETIME_US // 86_400_000_000
    assert f"for {days} days" in section("1.5")


def test_what_is_kept_of_versions_is_the_codes() -> None:
    kept = [cells[1] for cells in rows(PAGE) if cells[0] in ("retention of versions", "how long versions are kept")]
    days, last = f"{limits.RETENTION_DAYS_DEFAULT} days", f"last {limits.RETENTION_VERSIONS_DEFAULT} of a live memory"
    assert len(kept) == 2
    assert all(days in cell and last in cell for cell in kept), kept


def test_the_example_runs(backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
    match = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    lines = [line for line in match[1].splitlines() if not line.startswith("client = ")]
    exec("\n".join(lines), {"client": backend.client()})  # noqa: S102 the page's own example
    assert capsys.readouterr().out.splitlines() == [
        "modified - buy milk",
        "- call Ada",
        "",
        "created - buy milk",
        "",
    ]
