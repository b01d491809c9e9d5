"""Keys with a limit of calls: what counts, what does not, and that counting costs no call."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import ManualClock
from memolith.app.auth.key_rates import KEPT_MAX, KeyRates
from memolith.app.kernel.results import RequestContext
from memolith.core.errors import InvalidRequest, RateLimited
from memolith.core.limits import KEY_REQUESTS_PER_MINUTE_MAX
from memolith.core.rows.identity import ApiKeyRow
from memolith.wire.auth import credentials
from memolith.wire.rpc import keys_calls
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene


def key(limit: int | None, number: int = 0) -> ApiKeyRow:
    return ApiKeyRow(
        workspace_id=WORKSPACE,
        key_id=f"apikey_useast1_{number:026d}",
        name="ci",
        scope="read",
        secret_sha256="0" * 64,
        created_at=0,
        requests_per_minute=limit,
    )


def taken(rates: KeyRates, row: ApiKeyRow, calls: int) -> int:
    """How many of so many calls were let through."""
    passed = 0
    for _ in range(calls):
        try:
            rates.take(row)
        except RateLimited:
            continue
        passed += 1
    return passed


def test_a_minutes_calls_pass_at_once_and_then_as_many_as_the_time_allows() -> None:
    clock = ManualClock()
    rates = KeyRates(clock)
    assert taken(rates, key(60), 100) == 60
    clock.advance(10)
    assert taken(rates, key(60), 100) == 10
    clock.advance(3_600)
    assert taken(rates, key(60), 100) == 60


def test_one_keys_calls_are_not_anothers_and_without_a_limit_all_pass() -> None:
    rates = KeyRates(ManualClock())
    assert taken(rates, key(2, 1), 5) == 2
    assert taken(rates, key(2, 2), 5) == 2
    assert taken(rates, key(None, 3), 500) == 500


@pytest.mark.parametrize(("limit", "seconds"), [(1, 60), (3, 20), (7, 9), (600, 1)])
def test_after_as_long_as_it_is_told_to_wait_one_call_passes(limit: int, seconds: int) -> None:
    clock = ManualClock()
    rates = KeyRates(clock)
    taken(rates, key(limit), limit)
    with pytest.raises(RateLimited) as refused:
        rates.take(key(limit))
    assert refused.value.retry_after_s == seconds
    clock.advance(seconds)
    assert taken(rates, key(limit), 1) == 1


def test_a_clock_that_is_set_back_gives_no_calls_and_takes_none() -> None:
    clock = ManualClock()
    rates = KeyRates(clock)
    taken(rates, key(2), 1)
    clock.advance(-3_600)
    assert taken(rates, key(2), 5) == 1


def test_a_process_remembers_so_many_keys_and_no_more() -> None:
    rates = KeyRates(ManualClock())
    for number in range(KEPT_MAX + 50):
        taken(rates, key(1, number), 1)
    assert taken(rates, key(1, KEPT_MAX + 49), 1) == 0
    assert len(rates._buckets) == KEPT_MAX


def issued(scene: Scene, **limits: Any) -> str:
    fields = {"call": "keys.create", "workspace_id": WORKSPACE, "name": "ci", "scope": "write", **limits}
    return str(keys_calls(scene.at(HOME).api_keys)(fields)["api_key"])


def caller(scene: Scene, text: str, at: str = HOME) -> RequestContext:
    return RequestContext(credentials({"x-api-key": text}, scene.at(at).sessions.verify))


def test_a_request_counts_once_and_the_limit_costs_no_call(scene: Scene) -> None:
    free, limited = issued(scene), issued(scene, requests_per_minute=2)
    costs = []
    for text in (free, limited):
        counts = CallCounts()
        with scene.intercepted_by(counts):
            call = caller(scene, text)
            scene.at(HOME).admit(call, [scene.store])
            scene.at(HOME).stores.retrieve(call, scene.store)
        costs.append(dict(counts.requests))
    assert costs[0] == costs[1]
    scene.at(HOME).stores.retrieve(caller(scene, limited), scene.store)
    with pytest.raises(RateLimited, match="2 requests a minute"):
        scene.at(HOME).stores.retrieve(caller(scene, limited), scene.store)


def test_a_call_that_is_passed_on_counts_where_it_came_in(scene: Scene) -> None:
    text = issued(scene, requests_per_minute=1)
    scene.deliver()
    away = scene.at(AWAY).memories
    away.create(caller(scene, text, AWAY), scene.store, path="/a", content="x", full=False)
    with pytest.raises(RateLimited):
        away.create(caller(scene, text, AWAY), scene.store, path="/b", content="x", full=False)


@pytest.mark.parametrize("limit", [0, -1, KEY_REQUESTS_PER_MINUTE_MAX + 1, "10", True, 1.5])
def test_a_limit_that_is_none_is_refused_by_its_name(scene: Scene, limit: object) -> None:
    with pytest.raises(InvalidRequest, match="requests_per_minute"):
        scene.at(HOME).api_keys.create(WORKSPACE, "ci", "read", requests_per_minute=limit)  # type: ignore[arg-type]  # what is no number, too
