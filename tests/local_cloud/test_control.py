"""The replicator's control address, over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.local_cloud.replication.control import Control
from tests.local_cloud.conftest import Pair, until


class Remote:
    """A client of one control address."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, path: str, settings: Any = None) -> tuple[int, Any]:
        """GET, or POST of ``settings``; the status and the parsed answer."""
        body = None if settings is None else json.dumps(settings).encode()
        try:
            request = urllib.request.Request(self._url + path, data=body)  # noqa: S310  our own address
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - our own address
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


@pytest.fixture
def remote(pair: Pair) -> Iterator[Remote]:
    """A client of the control address of a replicator at work."""
    control = Control(pair.replicate())
    control.start()
    yield Remote(control.url)
    control.stop()


def test_settings_are_read_and_changed_while_it_runs(remote: Remote) -> None:
    status, answer = remote.ask("/replication", {"lag_ms": 250, "pause": [["us-east-1", "eu-west-1"]]})
    assert status == 200
    assert answer["lag_ms"] == 250
    assert remote.ask("/replication")[1]["pause"] == [["us-east-1", "eu-west-1"]]
    assert remote.ask("/replication", {"pause": []})[1]["lag_ms"] == 250


def test_each_pair_tells_what_waits_and_what_was_copied(remote: Remote, pair: Pair) -> None:
    def towards_europe() -> dict[str, Any]:
        pairs = remote.ask("/replication")[1]["pairs"]
        found: dict[str, Any] = next(entry for entry in pairs if entry["destination"] == "eu-west-1")
        return found

    remote.ask("/replication", {"pause": [["*", "eu-west-1"]]})
    pair.put("us-east-1/log/a")
    until(lambda: towards_europe()["pending"] == 1, "one pending")
    assert towards_europe()["paused"]
    remote.ask("/replication", {"pause": []})
    until(lambda: towards_europe()["copied"] == 1, "one copied")
    assert towards_europe()["pending"] == 0
    [copy] = remote.ask("/replication/recent?limit=5")[1]["copies"]
    assert (copy["key"], copy["source"], copy["destination"]) == ("us-east-1/log/a", "us-east-1", "eu-west-1")


@pytest.mark.slow
def test_nothing_is_put_once_the_answer_to_a_pause_is_in(remote: Remote, pair: Pair) -> None:
    for number in range(50):
        pair.put(f"us-east-1/log/{number:02}")
    remote.ask("/replication", {"pause": [["us-east-1", "eu-west-1"]]})
    there = pair.listed()
    remote.ask("/replication", {"lag_ms": 0})
    assert pair.listed() == there
    remote.ask("/replication", {"pause": []})
    until(lambda: len(pair.listed()) == 50, "all of them after the pause")


@pytest.mark.slow
def test_a_held_object_stays_behind_until_it_is_let_go(remote: Remote, pair: Pair) -> None:
    remote.ask("/replication", {"hold": ["us-east-1/log/a"]})
    pair.put("us-east-1/log/a")
    pair.put("us-east-1/log/b")
    until(lambda: pair.listed() == ["us-east-1/log/b"], "the other one overtakes it")
    remote.ask("/replication", {"hold": []})
    until(lambda: pair.listed() == ["us-east-1/log/a", "us-east-1/log/b"], "both")


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [{"lag_ms": -1}, {"speed": 1}, [1]])
def test_bad_settings_are_answered_400_and_change_nothing(remote: Remote, wanted: Any) -> None:
    before = remote.ask("/replication")[1]["lag_ms"]
    status, answer = remote.ask("/replication", wanted)
    assert status == 400
    assert answer["error"]
    assert remote.ask("/replication")[1]["lag_ms"] == before


def test_an_unknown_path_is_answered_404(remote: Remote) -> None:
    assert remote.ask("/nothing")[0] == 404
