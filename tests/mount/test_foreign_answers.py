"""What a portal, a proxy or another server answers in the store's place is no answer, and ends nothing."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from memolith.clients.mount.mounting import Freshness
from memolith.clients.working_copy.http_store_client import READ_ATTEMPTS, HttpStoreClient
from memolith.clients.working_copy.store_client import NoAnswer
from tests.api.harness import BASE_URL
from tests.mount.conftest import Desk, DeskClock
from tests.mount.mounted import until

Answer = Callable[[], httpx2.Response]

FOREIGN: dict[str, Answer] = {
    "a page": lambda: httpx2.Response(200, html="<html>Sign in to this network</html>"),
    "a page that accepts": lambda: httpx2.Response(202, html="<html></html>"),
    "a page that is not there": lambda: httpx2.Response(404, html="<html>not found</html>"),
    "another program's conflict": lambda: httpx2.Response(409, json={"detail": "conflict"}),
    "no object": lambda: httpx2.Response(200, json=["ok"]),
    "another object": lambda: httpx2.Response(200, json={"status": "ok"}),
    "too deep an object": lambda: httpx2.Response(200, content=b"[" * 100_000),
    "no text": lambda: httpx2.Response(200, content=b"\xff\xfe\xfd"),
    "what cannot be unpacked": lambda: httpx2.Response(
        200, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(b"no gzip")
    ),
}


def client_over(desk: Desk, answers: Iterator[httpx2.Response]) -> HttpStoreClient:
    """A client that is given these answers first, and then the store's."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        return next(answers, None) or desk.network.handle_request(request)

    clock = DeskClock(desk.backend.clock)
    return HttpStoreClient(BASE_URL, desk.backend.api_key, desk.store_id, clock, httpx2.MockTransport(handle))


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_memoliths_is_no_answer_and_a_write_may_have_been_done(desk: Desk, foreign: Answer) -> None:
    client = client_over(desk, (foreign() for _ in range(READ_ATTEMPTS + 2)))
    with pytest.raises(NoAnswer) as silent:
        client.heads()
    assert not silent.value.maybe_done
    for write in (lambda: client.create("/a.md", "one"), lambda: client.delete("mem_1", expected_sha256="0")):
        with pytest.raises(NoAnswer) as silent:
            write()
        assert silent.value.maybe_done
    assert client.create("/a.md", "one").path == "/a.md"
    assert [head.path for head in client.heads().heads] == ["/a.md"]


def test_a_read_that_something_else_answered_once_is_asked_again(desk: Desk) -> None:
    assert client_over(desk, iter([FOREIGN["a page"]()])).heads().heads == []


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine's zone: nine hours ahead of UTC."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("date", "at_us"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000_000),
        ("Sun Nov  6 08:49:37 1994", 784_111_777_000_000),
        ("Sun, 99999999999999999999 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 25:61:61 GMT", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_what_is_no_date_is_as_if_the_answer_had_none(desk: Desk, in_tokyo: None, date: str, at_us: int | None) -> None:
    """A proxy may write it, also in the form without a zone, which means UTC as well."""
    told = [httpx2.Response(200, json={"data": [], "next_page": None}, headers={"date": date}) for _ in range(2)]
    client = client_over(desk, iter(told))
    assert (client.heads().answered_at_us, client.changes(0).answered_at_us) == (at_us, at_us)


@pytest.mark.parametrize("until", ["2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "unknown", ""])
def test_what_is_no_instant_says_nothing_of_how_complete_a_region_is(desk: Desk, until: str) -> None:
    told = httpx2.Response(200, json={"data": [], "next_page": None}, headers={"x-memolith-complete-until": until})
    assert client_over(desk, iter([told])).heads().complete_until_us is None


def waiting(desk: Desk) -> None:
    desk.network.down = True
    with pytest.raises(OSError, match="does not answer") as silent:
        desk.save("/a.md", "one")
    assert silent.value.errno == errno.EIO
    desk.network.down = False
    desk.backend.clock.advance(3)


def test_a_mount_whose_requests_something_else_answers_for_a_while_goes_on_and_commits_what_waits(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    waiting(desk)
    desk.copy.state.client._http = client_over(  # type: ignore[attr-defined]  # the client's own field
        desk, (FOREIGN["a page"]() for _ in range(2 * READ_ATTEMPTS))
    )._http
    freshness = Freshness(desk.copy, 0.01, lambda changed: None)
    with caplog.at_level(logging.WARNING):
        freshness.start()
        until(lambda: desk.stored() == {"/a.md": "one"})
        freshness.stop()
    assert "not as Memolith answers" in caplog.text


@pytest.mark.parametrize("fails", ["changes", "create"])
def test_a_mount_goes_on_after_what_no_one_foresaw(
    desk: Desk, fails: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waiting(desk)
    asked, failed = getattr(HttpStoreClient, fails), threading.Event()

    def fails_once(*arguments: Any) -> Any:
        if failed.is_set():
            return asked(*arguments)
        failed.set()
        raise KeyError("data")

    monkeypatch.setattr(HttpStoreClient, fails, fails_once)
    freshness = Freshness(desk.copy, 0.01, lambda changed: None)
    with caplog.at_level(logging.WARNING):
        freshness.start()
        until(lambda: desk.stored() == {"/a.md": "one"} and failed.is_set())
        until(lambda: "KeyError" in caplog.text)
        freshness.stop()


def test_what_was_moved_away_is_looked_through_under_the_lock_under_which_it_changes(desk: Desk) -> None:
    state = desk.copy.state
    held: list[bool] = []

    def tries() -> None:
        free = state.lock.acquire(blocking=False)
        held.append(not free)
        if free:
            state.lock.release()

    class Watched(dict[str, Any]):
        def values(self) -> Any:
            probe = threading.Thread(target=tries)
            probe.start()
            probe.join()
            return super().values()

    state.displaced = Watched()
    desk.save("/plan.tmp", "one")
    desk.backend.clock.advance(61)
    desk.copy.commit_waiting()
    assert desk.stored() == {"/plan.tmp": "one"}
    assert held == [True]
