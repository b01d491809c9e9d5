"""Recent activity: what was erased is not told, how far back it looks, and the same at home for another region."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.api import activity
from memolith.app.kernel.activity_results import Activity
from memolith.app.kernel.results import ReadConsistency
from tests.unit.app.scene import AWAY, HOME, Scene


def changed(scene: Scene, at: str = HOME, since: int = 0, home: bool = False) -> Activity:
    call = replace(scene.call(), demand=ReadConsistency(home=home))
    return scene.at(at).activity.page(call, scene.store, since=since, author=None, page=1, page_size=10)


def test_only_changes_since_the_instant_are_counted(scene: Scene) -> None:
    made = scene.create("/a", "one")
    scene.clock.advance(3_600)
    since = scene.clock.now_us()
    assert changed(scene, since=since).memories == ()
    scene.update(made, "two")
    [one] = changed(scene, since=since).memories
    assert (one.changes, one.newest.operation) == (1, "modified")
    assert changed(scene).memories[0].changes == 2


def test_the_path_and_hash_of_a_redacted_change_are_not_told(scene: Scene) -> None:
    made = scene.create("/secret-name", "one")
    scene.delete(made)
    for version in (made.version_id, changed(scene).memories[0].newest.id):
        scene.redact(version)
    scene.deliver()
    [one] = changed(scene).memories
    assert (one.newest.path, one.newest.content_sha256, one.changes) == (None, None, 2)


def test_an_answer_that_did_not_look_at_all_changes_says_so(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        scene.create(f"/{number}", "text")
        scene.clock.advance(1)
    assert not changed(scene).truncated
    monkeypatch.setattr(activity, "VERSIONS_MAX", 2)
    assert changed(scene).truncated
    assert [one.newest.path for one in changed(scene).memories] == ["/2", "/1"]


def test_the_home_is_asked_where_its_answer_is_demanded(scene: Scene) -> None:
    scene.deliver()
    scene.create("/a", "text")
    assert [one.newest.path for one in changed(scene, AWAY, home=True).memories] == ["/a"]
