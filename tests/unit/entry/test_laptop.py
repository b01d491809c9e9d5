"""One folder, served by one process after another: what a dead one left, and what an erasure leaves."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from memolith.adapters.layered import Crash, Fault, Faulty, InterceptedIndex, InterceptedObjects, ScriptedFaults, Strike
from memolith.adapters.local import Database
from memolith.adapters.local.files import is_shared
from memolith.adapters.memory import ManualClock, RecordingMetrics
from memolith.adapters.system import SystemRandomness
from memolith.app.kernel.results import Memory, RequestContext, VersionFilter
from memolith.app.safety.deep_scan import DeepScanner
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.errors import Damaged, Unavailable
from memolith.core.rows.control import ControlRow
from memolith.entry import laptop_files, repair
from memolith.entry.audit import public_keys
from memolith.entry.compose_laptop import REGION, LocalSite, Machine, open_site, owner_key
from memolith.entry.laptop_files import START, index_path, open_database
from memolith.entry.repair import damaged
from memolith.entry.settings import LocalSettings
from memolith.wire import auth
from memolith.wire.rpc import keys_calls
from tests.support.folders import quick_folder
from tests.unit.app.looking import PLANTED, Looking


class Laptop:
    """A folder, and a clock that its processes go by."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        with self.site() as site:
            self.api_key = owner_key(root, site.region)
            self.store_id = site.memolith.stores.create(self.call, name="s", description="", metadata={}).id

    @property
    def call(self) -> RequestContext:
        return RequestContext(auth.of_key(self.api_key))

    @contextmanager
    def site(self, deep: DeepScanner | None = None) -> Iterator[LocalSite]:
        """A process that serves."""
        machine = Machine(self.clock, SystemRandomness(), RecordingMetrics())
        site = open_site(self.root, LettingAllThrough(), machine, deep=deep)
        try:
            yield site
        finally:
            site.close()

    def killed(self, name: str, occurrence: int, act: Callable[[LocalSite], object]) -> None:
        """A process that is killed before its n-th port call of that name."""
        strike = Strike(Fault.CRASH_BEFORE, name, occurrence)
        faulty = Faulty(ScriptedFaults(strike))
        with self.site() as site:
            site.arrivals.stop()
            site.region.index = InterceptedIndex(site.region.index, REGION, faulty)
            site.region.objects = InterceptedObjects(site.region.objects, REGION, faulty)
            with pytest.raises(Crash):
                act(site)
        assert strike.fired

    def create(self, site: LocalSite, path: str, content: str) -> Memory:
        return site.memolith.memories.create(self.call, self.store_id, path=path, content=content, full=True)

    def paths(self, site: LocalSite) -> list[str]:
        page = site.memolith.memories.page(
            self.call, self.store_id, path_prefix=None, depth=0, limit=100, after=None, full=False
        )
        return [one.path for one in page.items]

    def settle(self, site: LocalSite) -> None:
        """Until the queue is empty: whatever is announced is due, and folded by the site's own thread."""
        for _ in range(500):
            self.clock.advance(60)
            if not site.queue.messages():
                return
            Event().wait(0.02)
        raise AssertionError("the queue is not empty after ten seconds")


@pytest.fixture
def laptop() -> Iterator[Laptop]:
    with quick_folder() as root:
        yield Laptop(root)


def test_a_put_whose_writer_died_before_it_could_fold_shows_in_the_next_process(laptop: Laptop) -> None:
    laptop.killed("index.commit", 2, lambda site: laptop.create(site, "/a", "text"))
    with laptop.site() as site:
        assert laptop.paths(site) == []
        laptop.settle(site)
        assert laptop.paths(site) == ["/a"]


def test_a_write_that_died_before_its_put_leaves_nothing_and_the_path_free(laptop: Laptop) -> None:
    laptop.killed("objects.put_if_absent", 1, lambda site: laptop.create(site, "/a", "text"))
    with laptop.site() as site:
        laptop.settle(site)
        assert laptop.paths(site) == []
        assert laptop.create(site, "/a", "mine").content == "mine"


def test_a_rename_that_died_between_its_two_puts_is_finished_by_the_next_process(laptop: Laptop) -> None:
    with laptop.site() as site:
        memory = laptop.create(site, "/a", "text")

    def rename(site: LocalSite) -> object:
        return site.memolith.memories.update(
            laptop.call, laptop.store_id, memory.id, content=None, path="/b", expected_content_sha256=None, full=False
        )

    laptop.killed("objects.put_if_absent", 2, rename)
    with laptop.site() as site:
        laptop.settle(site)
        assert laptop.paths(site) == ["/b"]


def test_tables_that_were_deleted_are_made_anew_and_answer_the_same(laptop: Laptop) -> None:
    with laptop.site() as site:
        memories = [laptop.create(site, f"/{name}", name) for name in "abc"]
        history = site.memolith.versions.page(
            laptop.call, laptop.store_id, VersionFilter(), limit=9, after=None, full=True
        )
    for path in laptop.root.glob(f"{index_path(laptop.root).stem}*"):
        path.unlink()
    with laptop.site() as site:
        for memory in memories:
            found = site.memolith.memories.retrieve(laptop.call, laptop.store_id, memory.id, full=True)
            assert found == memory
        again = site.memolith.versions.page(
            laptop.call, laptop.store_id, VersionFilter(), limit=9, after=None, full=True
        )
        assert again == history
        assert site.region.view().complete_until == laptop.clock.now_us()


def test_a_start_that_died_over_making_the_tables_is_taken_up_by_the_next(laptop: Laptop) -> None:
    with laptop.site() as site:
        laptop.create(site, "/a", "text")
        before = site.region.read(site.region.index, [ControlRow.KEY])[ControlRow.KEY]
        half_done = ControlRow(serving=1, complete=False, building=2, run="run_1").to_attributes()
        from memolith.ports.index import Change

        site.region.index.commit([Change(ControlRow.KEY, before, half_done)])
        with pytest.raises(Unavailable):
            laptop.create(site, "/b", "text")
    with laptop.site() as site:
        assert laptop.paths(site) == ["/a"]
        assert laptop.create(site, "/b", "text").path == "/b"
        assert not site.region.view().building


def test_tables_of_another_shape_are_removed_once_these_are_complete(laptop: Laptop) -> None:
    (laptop.root / "index-00000000.sqlite").write_bytes(b"of an earlier version")
    with laptop.site():
        assert sorted(path.name for path in laptop.root.glob("index-0*")) == []


def test_what_was_redacted_is_in_no_file_of_the_folder(laptop: Laptop) -> None:
    """Nor its path, nor the hash of its content: neither in the objects nor in what SQLite keeps beside its tables."""
    with laptop.site() as site:
        memory = laptop.create(site, "/a-private-path", "a private text")
        site.memolith.memories.delete(laptop.call, laptop.store_id, memory.id, expected_content_sha256=None)
        laptop.settle(site)
        versions = site.memolith.versions.page(
            laptop.call, laptop.store_id, VersionFilter(), limit=9, after=None, full=False
        ).items
        for version in versions:
            site.memolith.redactions.redact(laptop.call, laptop.store_id, version.id)
        laptop.settle(site)
        assert len(versions) == 2
    digest = hashlib.sha256(b"a private text").hexdigest().encode()
    for path in laptop.root.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(private in content for private in (b"private", b"cHJpdmF0", digest)), path


def test_a_message_that_cannot_be_folded_is_set_aside_and_stops_no_other(laptop: Laptop) -> None:
    with laptop.site() as site:
        site.region.objects.put_if_absent("laptop/nonsense", b"", {})
        laptop.create(site, "/a", "text")
        laptop.settle(site)
        (buried,) = site.queue.buried()
        assert buried[0] == "laptop/nonsense"
        assert "not a key of Memolith" in buried[1]


@pytest.mark.slow
def test_a_key_whose_object_never_comes_is_looked_for_a_few_times_and_then_forgotten(laptop: Laptop) -> None:
    with laptop.site() as site:
        laptop.settle(site)
        site.queue.send(["laptop/log/never"])
        laptop.settle(site)
        assert site.queue.buried() == []


def test_a_key_whose_object_comes_late_is_folded_all_the_same(laptop: Laptop) -> None:
    """The queue looks before the put, and comes back."""
    laptop.killed("index.commit", 2, lambda site: laptop.create(site, "/a", "text"))
    (path,) = [one for one in (laptop.root / "objects" / REGION / "log").rglob("*") if one.is_file()]
    aside = path.rename(laptop.root / "aside")
    with laptop.site() as site:
        while not (late := [one for one in site.queue.messages() if one.body.startswith("laptop/log/") and one.taken]):
            laptop.clock.advance(0.5)
            Event().wait(0.02)
        assert len(late) == 1
        aside.rename(path)
        laptop.settle(site)
        assert laptop.paths(site) == ["/a"]


@pytest.mark.slow
def test_sealing_erasing_and_sweeping_go_on_after_the_clock_was_set_back(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with laptop.site() as site:
        laptop.settle(site)
        laptop.clock.advance(-86_400)
        done = Counter[str]()
        monkeypatch.setattr(site.arrivals, "_seal", lambda: done.update(["seal"]))
        monkeypatch.setattr(site.arrivals, "_erase", lambda: done.update(["erase"]))
        monkeypatch.setattr(site.bucket, "sweep", lambda before_s: done.update(["sweep"]))
        for _ in range(500):  # less than a day in all, so that no clock gets to where it was
            if len(done) == 3:
                break
            laptop.clock.advance(60)
            Event().wait(0.02)
    assert set(done) == {"seal", "erase", "sweep"}


def test_what_was_written_is_looked_at_again_and_withheld_if_that_finds_something(laptop: Laptop) -> None:
    looking = Looking()
    with laptop.site(looking) as site:
        good, bad = laptop.create(site, "/good", "harmless"), laptop.create(site, "/bad", PLANTED)
        laptop.settle(site)
        assert {"harmless", PLANTED} <= set(looking.texts)
        withheld = [
            site.memolith.memories.retrieve(laptop.call, laptop.store_id, memory.id, full=True).withheld is not None
            for memory in (good, bad)
        ]
        assert withheld == [False, True]


def test_the_owners_key_is_kept_private_and_reused(laptop: Laptop) -> None:
    assert (laptop.root / "key").stat().st_mode & 0o777 == 0o600
    with laptop.site() as site, laptop.site() as other, ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda one: owner_key(laptop.root, one.region), [site, other] * 4))
    assert set(keys) == {laptop.api_key}


@pytest.mark.parametrize("text", ["", "nonsense", "sk-memolith-default-laptop_01kb0000000000000000000000-" + "0" * 64])
def test_a_file_that_holds_no_key_of_this_folder_is_replaced(laptop: Laptop, text: str) -> None:
    (laptop.root / "key").write_text(text)
    with laptop.site() as site:
        laptop.api_key = owner_key(laptop.root, site.region)
        assert laptop.paths(site) == []


def test_a_key_that_was_revoked_is_replaced(laptop: Laptop) -> None:
    credentials = auth.of_key(laptop.api_key)
    with laptop.site() as site:
        keys_calls(site.memolith.api_keys)(
            {"call": "keys.revoke", "workspace_id": credentials.workspace_id, "key_id": credentials.key_id}
        )
        assert owner_key(laptop.root, site.region) != laptop.api_key


def test_an_object_says_in_its_first_line_whose_it_is(laptop: Laptop) -> None:
    """A folder can be understood, and moved, without Memolith: body and metadata stand in one file."""
    with laptop.site() as site:
        memory = laptop.create(site, "/a", "text")
    objects = [path for path in (laptop.root / "objects" / REGION / "log").rglob("*") if path.is_file()]
    (header, _, body) = objects[0].read_bytes().partition(b"\n")
    assert body == b"text"
    assert memory.id in json.dumps(json.loads(header)["metadata"])


def test_a_damaged_text_of_a_folder_is_repaired_from_its_search_pack(laptop: Laptop) -> None:
    call, store_id = laptop.call, laptop.store_id
    with laptop.site() as site:
        made = site.memolith.memories.create(call, store_id, path="/a", content="the true text", full=False)
        assert "error" not in site.region.peers.call(REGION, "packer", {"call": "pack", "store_id": store_id})
    paths = [path for path in (laptop.root / "objects").rglob("*") if path.is_file()]
    [file] = [path for path in paths if b"\nthe true text" in path.read_bytes()]
    before = file.read_bytes()
    file.write_bytes(before.replace(b"true", b"evil"))
    with laptop.site() as site, pytest.raises(Damaged, match="altered"):
        site.memolith.memories.retrieve(call, store_id, made.id, full=True)
    settings = LocalSettings(laptop.root)
    looked = list(damaged(settings, None, look_only=True))
    assert [(one["outcome"], one["damage"]) for one in looked] == [("damaged", "altered")]
    assert [one["outcome"] for one in damaged(settings, None, look_only=False)] == ["repaired"]
    assert file.read_bytes() == before
    assert list(damaged(settings, store_id, look_only=False)) == []
    with laptop.site() as site:
        read = site.memolith.memories.retrieve(call, store_id, made.id, full=True)
        assert read.content == "the true text"


def test_a_folder_does_not_call_a_store_undamaged_that_it_does_not_have(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMOLITH_ROOT", str(laptop.root))
    unknown = "memstore_laptop_01m32510vgpzchz383xe24nrdm"
    assert (repair.main(laptop.store_id, "look"), capsys.readouterr().out) == (0, "[]\n")
    assert repair.main(unknown, "look") == 4
    told = f"error: memory_store {unknown} was not found\n`memolith stores list` lists what exists.\n"
    assert capsys.readouterr() == ("", told)


def test_an_audit_and_a_repair_open_a_folder_while_no_server_begins_there_or_is_mended(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is found damaged is set aside as it is opened, which two may not do at once."""
    held: list[bool] = []

    def noted(path: Path, moment: str, *, durable: bool) -> Database:
        held.append(is_shared(laptop.root / START))
        return open_database(path, moment, durable=durable)

    monkeypatch.setattr(laptop_files, "open_database", noted)
    settings = LocalSettings(laptop.root)
    assert list(damaged(settings, None, look_only=True)) == []
    assert public_keys(settings)
    assert held == [True] * 4
    assert not is_shared(laptop.root / START)
