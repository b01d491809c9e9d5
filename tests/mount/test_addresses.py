"""One store by several addresses: what this machine has of it is found by each, and by releases after the first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memolith.clients.cli import main
from memolith.clients.mount import mounting
from memolith.clients.mount.ignored_files import IgnoredFiles
from memolith.clients.working_copy.unsaved_texts import Kind, UnsavedTexts
from memolith.clients.working_copy.working_copy import WorkingCopy
from tests.api.harness import memolith_backend
from tests.api.loopback import serving
from tests.mount.conftest import Desk


def waits(unsaved: UnsavedTexts, path: str, text: str) -> None:
    """An edit that was closed, and got no answer."""
    local = unsaved.add(path, Kind.EDIT, None, text.encode(), 0)
    local.complete = True
    unsaved.record(local)


def ignores(copy: WorkingCopy, kept: Path, path: str) -> None:
    files = IgnoredFiles(kept, copy.state)
    assert files.takes(path, folder=True)
    files.mkdir(path, 0o755)


def earlier(desk: Desk, place: Path, address: str) -> UnsavedTexts:
    """A living mount of a release that had a place for each address: an ignored file, and a cached text."""
    folder = place.with_name(f"{place.name}-{address}")
    unsaved = UnsavedTexts(folder / "local")
    ignores(desk.copy, folder / "ignored", f"/{address}/.git")
    (folder / "contents" / "ab").mkdir(parents=True)
    (folder / "contents" / "ab" / f"ab{address}").write_text("cached")
    return unsaved


def test_what_waits_and_what_is_ignored_is_there_whichever_address_the_store_is_mounted_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = memolith_backend()
    store = backend.client().beta.memory_stores.create(name="Notes").id
    monkeypatch.setattr(mounting, "check_fuse", lambda: None)

    def mounted(port: int, then: Callable[[WorkingCopy, Path], None]) -> str:
        def show(copy: WorkingCopy, _: Path, kept: Path, interval_s: float, shown: Callable[[], None]) -> None:
            shown()
            then(copy, kept)

        monkeypatch.setattr(mounting, "mount", show)
        words = [
            "--api-url",
            f"http://127.0.0.1:{port}",
            "--api-key",
            backend.api_key,
            "--desk",
            str(tmp_path / "desk"),
        ]
        done = CliRunner().invoke(main.app, ["mount", store, str(tmp_path / "m"), *words])
        assert done.exception is None, done.output
        return done.output

    def dies(copy: WorkingCopy, kept: Path) -> None:
        waits(copy.unsaved, "/a.md", "mine")
        ignores(copy, kept, "/.git")
        copy.unsaved.abandon()

    def ends(copy: WorkingCopy, kept: Path) -> None:
        assert IgnoredFiles(kept, copy.state).covers("/.git/HEAD")
        copy.close()

    with serving(backend.answer) as one, serving(backend.answer) as other:
        mounted(one, dies)
        assert "left by an earlier mount: /a.md" in mounted(other, ends)
    rows = backend.client().beta.memory_stores.memories.list(store, view="full")
    assert [(row.path, row.content) for row in rows if row.type == "memory"] == [("/a.md", "mine")]


def test_what_an_earlier_release_left_for_several_addresses_is_taken_over(desk: Desk, tmp_path: Path) -> None:
    place, addresses = tmp_path / desk.store_id, ("0123456789ab", "ba9876543210")
    for address in addresses:
        left = earlier(desk, place, address)
        waits(left, f"/{address}.md", "mine")
        left.abandon()
    copy = mounting.open_copy(desk.copy.client, place, read_only=False)
    ignored = IgnoredFiles(mounting.ignored_of(place), copy.state)
    assert all(ignored.covers(f"/{address}/.git") for address in addresses)
    copy.close()
    assert desk.stored() == {f"/{address}.md": "mine" for address in addresses}
    assert {text.read_text() for text in tmp_path.glob("*/contents/??/*")} == {"mine"}, "only what the store has"


def test_what_a_living_mount_of_an_earlier_release_has_stays_until_it_is_dead(desk: Desk, tmp_path: Path) -> None:
    place = tmp_path / desk.store_id
    living = earlier(desk, place, "0123456789ab")
    waits(living, "/a.md", "mine")
    copy = mounting.open_copy(desk.copy.client, place, read_only=False)
    second = mounting.open_copy(desk.copy.client, place, read_only=False)
    assert copy.unsaved.inherited == second.unsaved.inherited == []
    waits(living, "/b.md", "mine too")
    copy.close()
    second.close()
    assert list(tmp_path.glob("*-0123456789ab/ignored/*/content")) != []
    living.abandon()
    copy = mounting.open_copy(desk.copy.client, place, read_only=False)
    assert sorted(local.path for local in copy.unsaved.inherited) == ["/a.md", "/b.md"]
    assert IgnoredFiles(mounting.ignored_of(place), copy.state).covers("/0123456789ab/.git")
    copy.close()


def test_what_is_ignored_at_one_path_by_two_addresses_is_named_and_left(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / desk.store_id
    earlier(desk, place, "0123456789ab").abandon()
    desk.die()
    desk.start()
    ignores(desk.copy, mounting.ignored_of(place), "/0123456789ab/.git")
    with caplog.at_level(logging.WARNING):
        mounting.open_copy(desk.copy.client, place, read_only=False).close()
    [left] = tmp_path.glob("*-0123456789ab/ignored/*")
    assert f"{left} cannot be taken over" in caplog.text
