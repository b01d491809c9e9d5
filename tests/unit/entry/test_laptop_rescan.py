"""The scan after the commit, whatever becomes of the laptop's queue: no acknowledged text is left without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest

from memolith.adapters.local import LocalQueue
from memolith.entry import laptop_rescan
from memolith.entry.compose_laptop import LocalSite
from memolith.entry.laptop_files import family, queue_path
from memolith.entry.laptop_rescan import LaptopRescan
from tests.unit.app.looking import PLANTED, Looking
from tests.unit.entry.test_laptop import Laptop, laptop

__all__ = ["laptop"]

FULL = 2
"""SQLite's number of ``synchronous = FULL``: every commit is on disk when it returns."""


def remove_queue(root: Path) -> None:
    for path in family(queue_path(root)):
        path.unlink()


def damage_queue(root: Path) -> None:
    remove_queue(root)
    queue_path(root).write_bytes(bytes(9000))


def let_it_scan(laptop: Laptop, site: LocalSite) -> None:
    """Until the queue is filled, and then empty."""
    for _ in range(500):
        if site.queue.refilled() is None:
            return laptop.settle(site)
        Event().wait(0.02)
    raise AssertionError("the queue is not filled after ten seconds")


def requested(site: LocalSite) -> list[str]:
    """The keys of versions whose scan the queue asks for."""
    bodies = [message.body for message in site.queue.messages() if message.body.startswith("{")]
    return sorted(told["inspect"] for told in map(json.loads, bodies) if "inspect" in told)


def entries(site: LocalSite) -> list[str]:
    return list(site.region.objects.list("laptop/log/").keys)


@pytest.mark.slow
@pytest.mark.parametrize("lose", [remove_queue, damage_queue])
def test_every_text_is_scanned_after_its_commit_although_the_queue_with_its_request_was_lost(
    laptop: Laptop, lose: Callable[[Path], None]
) -> None:
    with laptop.site(Looking()) as site:
        let_it_scan(laptop, site)
        site.arrivals.stop()  # as a process that is killed before its thread has looked
        bad, good = laptop.create(site, "/bad", PLANTED), laptop.create(site, "/good", "first")
        site.memolith.memories.update(
            laptop.call, laptop.store_id, good.id, content="second", path=None, expected_content_sha256=None, full=False
        )
    lose(laptop.root)
    looking = Looking()
    with laptop.site(looking) as site:
        let_it_scan(laptop, site)
        assert sorted(looking.texts) == sorted([PLANTED, "first", "second"])
        found = site.memolith.memories.retrieve(laptop.call, laptop.store_id, bad.id, full=True)
        assert found.withheld is not None


def test_a_folder_whose_queue_was_kept_is_not_scanned_again_by_its_next_server(laptop: Laptop) -> None:
    with laptop.site(Looking()) as site:
        laptop.create(site, "/a", "text")
        let_it_scan(laptop, site)
    looking = Looking()
    with laptop.site(looking) as site:
        laptop.settle(site)
        assert not LaptopRescan(site.region, site.queue).go_on()
    assert looking.texts == []


def test_a_server_without_the_second_scan_leaves_a_new_queue_to_one_that_has_it(laptop: Laptop) -> None:
    with laptop.site() as site:
        laptop.create(site, "/a", "text")
        laptop.settle(site)
        assert site.queue.refilled() == ""
    looking = Looking()
    with laptop.site(looking) as site:
        let_it_scan(laptop, site)
    assert looking.texts == ["text"]


def test_a_new_queue_is_filled_in_pages_by_several_servers_and_has_each_version_once(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laptop_rescan, "PAGE", 2)
    with laptop.site() as site:
        for name in "abcde":
            laptop.create(site, f"/{name}", name)
        site.region.objects.put_if_absent("laptop/log/nonsense", b"", {})
        site.arrivals.stop()
        made = [key for key in entries(site) if key != "laptop/log/nonsense"]
        servers = [LaptopRescan(site.region, site.queue) for _ in range(2)]
        assert servers[0].go_on()
        assert requested(site) == made[:2]
        assert [server.go_on() for server in (*servers, *servers)] == [True, True, False, False]
        assert requested(site) == made
        assert site.queue.refilled() is None


def test_the_key_of_an_object_is_on_disk_before_the_object_is_put(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut right after the answer could take the only request for the version's scan."""
    synced: dict[str, int] = {}
    send = LocalQueue.send

    def noted(queue: LocalQueue, messages: Sequence[str], delay_s: float = 0.0) -> None:
        with queue._database.reading() as connection:
            synced.update(dict.fromkeys(messages, connection.execute("PRAGMA synchronous").fetchone()[0]))
        send(queue, messages, delay_s)

    with laptop.site() as site:
        laptop.settle(site)
        monkeypatch.setattr(LocalQueue, "send", noted)
        before = set(entries(site))
        laptop.create(site, "/a", "text")
        [made] = set(entries(site)) - before
        assert synced[made] == FULL
