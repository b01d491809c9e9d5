"""The drill's own parts: what it counts, what it calls broken, and that its runbooks are those of docs/operations."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import anthropic
import pytest

from memolith.adapters.memory import RecordingMetrics, SeededRandomness
from memolith.adapters.system import SystemClock
from memolith.wire.http import HttpApi
from scripts.drill.accounting import Account, account, history, wait_until_settled
from scripts.drill.load import REFUSED_REST_S, REST_S, Acknowledged, Assignment, Client, Load, Told
from scripts.drill.report import Report
from scripts.drill.runbook import RUNBOOK
from scripts.local_cloud.layout import PROJECT_ROOT
from tests.api.harness import model_backend
from tests.api.loopback import serving
from tests.support.cloud import Cloud, Site

HERE, THERE = "us-east-1", "eu-west-1"
WITHIN_S = 60.0


def wrote(version_id: str, at_s: float = 0.0, store_id: str = "s") -> Acknowledged:
    return Acknowledged(store_id, "mem_1", version_id, f"sha of {version_id}", at_s, 0.1)


def seen(*version_ids: str) -> dict[str, str | None]:
    return {version_id: f"sha of {version_id}" for version_id in version_ids}


def test_what_every_region_has_is_kept() -> None:
    found = account([wrote("1"), wrote("2")], {HERE: seen("1", "2", "x"), THERE: seen("1", "2")}, {})
    assert found == Account(frozenset({"1", "2"}), frozenset(), {HERE: frozenset(), THERE: frozenset()})
    assert found.settled


def test_what_one_region_lacks_is_missing_there() -> None:
    found = account([wrote("1"), wrote("2")], {HERE: seen("1", "2"), THERE: seen("1")}, {})
    assert found.missing == {HERE: frozenset(), THERE: frozenset({"2"})}
    assert (found.kept, found.settled) == (frozenset({"1"}), False)


def test_another_text_under_the_same_id_is_none_of_it() -> None:
    found = account([wrote("1")], {HERE: {"1": "another"}}, {})
    assert found.missing == {HERE: frozenset({"1"})}


def test_what_is_listed_as_divergent_is_not_missing_and_not_kept() -> None:
    listed = {HERE: frozenset({"2"}), THERE: frozenset({"2"})}
    found = account([wrote("1"), wrote("2")], {HERE: seen("1"), THERE: seen("1")}, listed)
    assert (found.kept, found.divergent, found.settled) == (frozenset({"1"}), frozenset({"2"}), True)


def test_what_one_region_keeps_and_another_lists_as_divergent_is_neither() -> None:
    found = account([wrote("1")], {HERE: seen("1"), THERE: {}}, {THERE: frozenset({"1"})})
    assert (found.kept, found.divergent, found.settled) == (frozenset(), frozenset(), False)
    assert report(found).broken == ["1 acknowledged writes are kept in one region and divergent in another: 1"]


def report(account: Account, doubled: frozenset[str] = frozenset(), failed: tuple[str, ...] = ()) -> Report:
    return Report(2, account, (Told(),), {"s": 1.0}, {HERE: 100}, doubled, {}, failed)


NOTHING: dict[str, frozenset[str]] = {HERE: frozenset()}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (report(Account(frozenset("12"), frozenset(), NOTHING)), []),
        (report(Account(frozenset("1"), frozenset("2"), NOTHING)), []),
        (
            report(Account(frozenset("1"), frozenset("2"), NOTHING), doubled=frozenset("2")),
            ["two regions are divergent"],
        ),
        (report(Account(frozenset("1"), frozenset(), {HERE: frozenset("2")})), ["1 acknowledged writes are neither"]),
        (report(Account(frozenset("12"), frozenset(), NOTHING), failed=("a step: stood still",)), ["stood still"]),
    ],
)
def test_what_is_broken_is_said(told: Report, said: list[str]) -> None:
    assert len(told.broken) == len(said)
    assert all(part in problem for part, problem in zip(said, told.broken, strict=True))


def test_a_pause_is_the_longest_time_between_two_writes_of_a_store() -> None:
    load = Load([Assignment("a", ("http://127.0.0.1:9",), "k", "s")])
    times = {"s": (1.0, 2.0, 9.0, 9.5), "other": (1.0, 4.0)}
    load.clients[0].told.acknowledged = [wrote(f"{s}{t}", t, s) for s, ts in times.items() for t in ts]
    assert load.longest_pause_s() == {"s": 7.0, "other": 3.0}
    assert (load.since(4.0), load.since(2.0, "other")) == (2, 1)


@pytest.mark.slow
def test_clients_keep_count_of_exactly_what_the_api_told_them() -> None:
    backend = model_backend()
    with serving(backend.answer) as port:
        url = f"http://127.0.0.1:{port}"
        sdk = anthropic.Anthropic(base_url=url, api_key=backend.api_key)
        store_id = sdk.beta.memory_stores.create(name="Drill").id
        load = Load([Assignment(f"c{n}", (url,), backend.api_key, store_id, memories=2) for n in (1, 2)])
        load.start()
        until(lambda: len(load.acknowledged()) >= 8)
        load.end()
        there = history(sdk, [store_id])
    acknowledged = load.acknowledged()
    assert {one.version_id: one.content_sha256 for one in acknowledged} == there
    assert len({one.memory_id for one in acknowledged}) == 4
    assert [client.told.refused + client.told.unknown for client in load.clients] == [0, 0]


def test_a_client_of_a_steady_pace_passes_over_the_times_that_went_by_and_tries_again_soon() -> None:
    paced, eager = (
        Client(Assignment("c", ("http://127.0.0.1:9",), "k", "s", every_s=every_s)) for every_s in (2.0, None)
    )
    assert [paced.next_due(10.0, now, acknowledged=True) for now in (10.1, 11.9, 12.0, 15.0)] == [
        12.0,
        12.0,
        12.0,
        16.0,
    ]
    assert [one.next_due(10.0, 15.0, acknowledged=False) for one in (paced, eager)] == [15.0 + REFUSED_REST_S] * 2
    assert eager.next_due(10.0, 15.0, acknowledged=True) == 15.0 + REST_S


def test_a_client_that_reaches_nobody_counts_refusals_and_goes_on() -> None:
    load = Load([Assignment("c", ("http://127.0.0.1:9",), "k", "memstore_x")])
    load.start()
    until(lambda: load.clients[0].told.refused >= 1)
    load.end()
    assert load.acknowledged() == []


@pytest.mark.slow
def test_a_write_whose_object_somebody_deleted_behind_everybodys_back_is_missed() -> None:
    """Every row still says that it is there. In the replica alone nothing is lost: its home still has it."""
    cloud = Cloud((HERE, THERE), clock=SystemClock())
    api_key = cloud.key()
    with ExitStack() as stack:
        urls = {name: stack.enter_context(answering(site)) for name, site in cloud.sites.items()}
        sdk = {
            name: stack.enter_context(anthropic.Anthropic(base_url=url, api_key=api_key, max_retries=0))
            for name, url in urls.items()
        }
        store_id = sdk[HERE].beta.memory_stores.create(name="Drill").id
        load = Load([Assignment("c", (urls[HERE],), api_key, store_id, memories=1)])
        load.start()
        until(lambda: len(load.acknowledged()) >= 2)
        load.end()
        cloud.deliver()
        lost, *_ = load.acknowledged()
        key = key_of(cloud, store_id, lost.version_id)
        judged = []
        for region in (None, THERE, HERE):
            if region is not None:
                cloud.buckets.remove(region, key)
            judged.append(report(wait_until_settled(load.acknowledged(), sdk, dict, within_s=0)))
    assert [one.exit_code for one in judged] == [0, 0, 1]
    assert all(lost.version_id in problem for problem in judged[-1].broken)
    assert len(judged[-1].broken) == 2, "in both regions"


@contextmanager
def answering(site: Site) -> Iterator[str]:
    """One region's API, on loopback; its address."""
    api = HttpApi(site.memolith, site.region.clock, SeededRandomness(), RecordingMetrics())
    with serving(api.answer) as port:
        yield f"http://127.0.0.1:{port}"


def key_of(cloud: Cloud, store_id: str, version_id: str) -> str:
    """Where a version's object lies."""
    objects = cloud.sites[HERE].region.objects
    keys = objects.list(f"{HERE}/log/{store_id}/").keys
    return next(key for key in keys if objects.head(key).metadata["id"] == version_id)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("what", RUNBOOK)
def test_what_the_drill_runs_stands_in_its_runbook(what: str) -> None:
    page, command = RUNBOOK[what]
    text = (PROJECT_ROOT / "docs" / "operations" / page).read_text()
    blocks = "\n".join(re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = [line.partition(" #")[0].strip() for line in blocks.splitlines()]
    assert command in lines
