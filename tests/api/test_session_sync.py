"""The SDK's own second client of this API, unchanged: it mirrors a store into a directory and syncs both ways.

`anthropic.lib.tools._memories.SessionMemoryStores` is private to the SDK, and so the best stranger to be tested with:
it leans on correct hashes in every list row, on reading one's own writes, and on the documented statuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anthropic
import pytest
from anthropic.lib.tools import _memories
from anthropic.lib.tools._memories import SessionMemoryStores
from anthropic.types.beta import BetaManagedAgentsSession

from memolith.core.objects.verdict_record import VerdictOutcome
from tests.api.harness import Backend
from tests.unit.app.scene import AWAY, HOME, Scene

Scenario = Callable[[SessionMemoryStores], Awaitable[None]]


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    return tmp_path / "mnt" / "memory" / "team-notes"


async def mirrored(backend: Backend, store_id: str, mount: Path, scenario: Scenario) -> None:
    """Download a store into a folder, let a scenario happen, and dispose of the mirror."""
    resource = {
        "type": "memory_store",
        "memory_store_id": store_id,
        "mount_path": str(mount),
        "name": "Team notes",
        "access": "read_write",
    }
    session = BetaManagedAgentsSession.construct(id="sesn_1", resources=[resource])
    stores = SessionMemoryStores(backend.async_client(), workdir=mount.parent)
    await stores.download(session)
    try:
        await scenario(stores)
    finally:
        await stores.dispose()


@pytest.fixture
def synced(backend: Backend, store_id: str, mount: Path) -> Callable[[Scenario], None]:
    """Downloads the store, lets a scenario happen, and disposes of the mirror."""
    return lambda scenario: asyncio.run(mirrored(backend, store_id, mount, scenario))


def contents(client: anthropic.Anthropic, store_id: str) -> dict[str, str | None]:
    rows = client.beta.memory_stores.memories.list(store_id, view="full")
    return {row.path: row.content for row in rows if row.type == "memory"}


def files(mount: Path) -> dict[str, str]:
    found = (path for path in mount.rglob("*") if path.is_file() and path.name != ".anthropic-memory-store")
    return {"/" + str(path.relative_to(mount)): path.read_text() for path in found}


@pytest.mark.slow
def test_a_store_of_many_pages_is_downloaded_whole(
    client: anthropic.Anthropic, store_id: str, mount: Path, synced: Callable[[Scenario], None]
) -> None:
    wanted = {f"/dir{number % 7}/ä {number}.md": f"content {number}\n" for number in range(65)}
    for path, content in wanted.items():
        client.beta.memory_stores.memories.create(store_id, path=path, content=content)

    async def scenario(stores: SessionMemoryStores) -> None:
        assert files(mount) == wanted

    synced(scenario)


def test_local_edits_creations_and_deletions_reach_the_store_and_remote_ones_the_disk(
    client: anthropic.Anthropic, store_id: str, mount: Path, synced: Callable[[Scenario], None]
) -> None:
    memories = client.beta.memory_stores.memories
    made = {name: memories.create(store_id, path=f"/{name}", content=name) for name in "abcdef"}

    async def scenario(stores: SessionMemoryStores) -> None:
        (mount / "a").write_text("edited here")
        (mount / "new").mkdir()
        (mount / "new" / "file.md").write_text("made here")
        (mount / "b").unlink()
        memories.update(made["c"].id, memory_store_id=store_id, content="edited there")
        memories.delete(made["d"].id, memory_store_id=store_id)
        memories.update(made["e"].id, memory_store_id=store_id, path="/moved/e")
        memories.create(store_id, path="/there", content="made there")
        await stores.finish()
        expected = {
            "/a": "edited here",
            "/c": "edited there",
            "/f": "f",
            "/moved/e": "e",
            "/new/file.md": "made here",
            "/there": "made there",
        }
        assert contents(client, store_id) == expected
        assert files(mount) == expected

    synced(scenario)


def test_a_second_sync_finds_nothing_to_do(
    backend: Backend,
    client: anthropic.Anthropic,
    store_id: str,
    mount: Path,
    synced: Callable[[Scenario], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every write is read back at once, with the hash the client computed."""
    monkeypatch.setattr(_memories, "monotonic", Clock())

    async def scenario(stores: SessionMemoryStores) -> None:
        for number in range(30):
            (mount / f"{number}.md").write_text("text " * number)
        await stores.sync_if_due()
        assert len(contents(client, store_id)) == 30
        backend.gateway.log.clear()
        await stores.sync_if_due()
        assert {method for method, _, _ in backend.gateway.log} == {"GET"}
        assert len(backend.gateway.log) == 1

    synced(scenario)


class Clock:
    """A monotonic clock on which a sync is due at every look."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        self._now_s += 60
        return self._now_s


def test_of_two_edits_at_once_the_stores_wins_and_nothing_is_repeated(
    backend: Backend, client: anthropic.Anthropic, store_id: str, mount: Path, synced: Callable[[Scenario], None]
) -> None:
    memory = client.beta.memory_stores.memories.create(store_id, path="/a", content="1")

    async def scenario(stores: SessionMemoryStores) -> None:
        (mount / "a").write_text("here")
        client.beta.memory_stores.memories.update(memory.id, memory_store_id=store_id, content="there")
        backend.gateway.log.clear()
        await stores.flush_writes()
        await stores.finish()
        assert [status for method, _, status in backend.gateway.log if method == "POST"].count(409) <= 1
        assert files(mount) == {"/a": "there"}

    synced(scenario)
    assert contents(client, store_id) == {"/a": "there"}


def test_what_the_store_refuses_is_refused_once_and_stops_nothing_else(
    backend: Backend, client: anthropic.Anthropic, store_id: str, mount: Path, synced: Callable[[Scenario], None]
) -> None:
    async def scenario(stores: SessionMemoryStores) -> None:
        (mount / "large").write_text("x" * 102_401)
        (mount / "e\u0301").write_text("a path that is not NFC")
        (mount / "fine").write_text("fine")
        await stores.flush_writes()
        await stores.flush_writes()
        statuses = sorted(status for method, _, status in backend.gateway.log if method == "POST" and status != 200)
        assert statuses == [400, 413]

    synced(scenario)
    assert contents(client, store_id) == {"/fine": "fine"}


# ---- texts that are not shown ---------------------------------------------------------------------------------------


class Hidden:
    """A store in one of two regions with `/a`, whose text no caller is shown, and `/b`, whose text all are."""

    def __init__(self, region: str, cause: str) -> None:
        self.scene, self.cause = Scene(), cause
        self.backend = Backend(
            self.scene.at(region), self.scene.clock, lambda _, scope: self.scene.cloud.key(scope, "wrkspc_default")
        )
        self.shown = self.scene.create("/b", "shown")
        self.scene.deliver()

    def hide(self) -> None:
        self.memory = self.scene.create("/a", "what stands in /a")
        self.scene.deliver()
        if self.cause == "damaged":
            self._damage()
        else:
            self.scene.judge(self.memory)
        self.scene.deliver()

    def _damage(self) -> None:
        buckets = self.scene.cloud.buckets
        for region in (HOME, AWAY):
            for key, body in self.scene.objects(region):
                whole = buckets.current(region, key)
                if body == b"what stands in /a" and whole is not None:
                    buckets.damage(region, key, replace(whole, body=b"another text in /a"))

    def show_again(self) -> None:
        if self.cause == "released meanwhile":
            self.scene.judge(self.memory, VerdictOutcome.RELEASE, (), "api_key:apikey_useast1_x")
            self.scene.deliver()


@pytest.mark.parametrize("cause", ["withheld", "released meanwhile", "damaged"])
@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize("when", ["before the download", "before a sync"])
def test_a_text_that_is_not_shown_is_not_emptied(
    mount: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: str, region: str, when: str
) -> None:
    """The client makes an empty file of it, keeps the hash of the text, and takes that for an edit of the agent's."""
    monkeypatch.setattr(_memories, "monotonic", Clock())
    hidden = Hidden(region, cause)
    if when == "before the download":
        hidden.hide()

    async def scenario(stores: SessionMemoryStores) -> None:
        if when == "before a sync":
            hidden.hide()
            await stores.sync_if_due()
        hidden.show_again()
        (mount / "b").write_text("edited")
        await stores.flush_writes()
        await stores.sync_if_due()
        await stores.finish()

    asyncio.run(mirrored(hidden.backend, hidden.scene.store, mount, scenario))
    for at in (HOME, AWAY):
        hidden.scene.deliver()
        now = hidden.scene.read(hidden.memory, at=at, full=False)
        assert (now.version_id, now.content_sha256) == (hidden.memory.version_id, hidden.memory.content_sha256)
        assert hidden.scene.read(hidden.shown, at=at).content == "edited"
