"""An archived store takes no new text; what it holds can be read, deleted and redacted (the API's rule)."""

from __future__ import annotations

from inspect import signature

import pytest

from memolith.app.api.store_settings import UPDATED
from memolith.app.api.stores import Stores
from memolith.app.kernel.results import UNSET
from memolith.core.errors import InvalidRequest, NotFound
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_an_archived_store_takes_no_creation_no_update_and_no_change_of_its_own(scene: Scene, region: str) -> None:
    made = scene.create("/a", "text")
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    scene.deliver()
    for attempt in (
        lambda: scene.create("/b", at=region),
        lambda: scene.update(made, "more", at=region),
        lambda: scene.update(made, path="/b", at=region),
        lambda: scene.at(region).stores.update(scene.call(), scene.store, name="n", description="", metadata={}),
    ):
        with pytest.raises(InvalidRequest, match="archived"):
            attempt()
    assert scene.history(made, at=region) == ["created"]


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_an_archived_store_can_be_read_and_emptied_and_its_versions_redacted(scene: Scene, region: str) -> None:
    made = scene.create("/a", "text")
    changed = scene.update(made, "more")
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    scene.deliver()
    assert scene.read(made, at=region).content == "more"
    assert scene.redact(made.version_id, at=region).redacted_at is not None
    scene.delete(made, at=region)
    assert scene.paths(at=region) == []
    assert scene.redact(changed.version_id, at=region).content_sha256 is None


def test_a_replica_that_has_not_heard_of_it_yet_is_refused_by_the_home(scene: Scene) -> None:
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    with pytest.raises(InvalidRequest, match="archived"):
        scene.create("/a", at=AWAY)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_an_archived_store_may_have_another_second_region_or_none_and_nothing_else_with_it(region: str) -> None:
    """So a region can be removed that is the second one of an archived store."""
    scene = Scene(regions=(HOME, AWAY, THIRD))
    update = scene.at(region).stores.update
    kept: dict[str, object] = {"name": UNSET, "description": UNSET, "metadata": UNSET}
    scene.at(HOME).stores.update(scene.call(), scene.store, **kept, durability="two_regions", second_region=AWAY)
    archived = scene.at(HOME).stores.archive(scene.call(), scene.store)
    scene.deliver()
    other: list[tuple[str, object]] = [("name", "n"), ("description", ""), ("retention", {"days": 7}), ("approval", {})]
    for name, value in other:
        with pytest.raises(InvalidRequest, match="archived"):
            update(scene.call(), scene.store, **{**kept, "second_region": THIRD, name: value})
    with pytest.raises(InvalidRequest, match="archived"):
        update(scene.call(), scene.store, **kept)
    moved = update(scene.call(), scene.store, **kept, second_region=THIRD)
    assert (moved.second_region, moved.archived_at) == (THIRD, archived.archived_at)
    assert scene.cloud.buckets.page(THIRD, f"{HOME}/store/{scene.store}/", None, 9).keys
    alone = update(scene.call(), scene.store, **kept, durability="one_region")
    assert (alone.second_region, alone.archived_at) == (None, archived.archived_at)


def test_archiving_again_changes_nothing(scene: Scene) -> None:
    first = scene.at(HOME).stores.archive(scene.call(), scene.store)
    scene.clock.advance(5)
    assert scene.at(AWAY).stores.archive(scene.call(), scene.store) == first
    assert scene.at(HOME).stores.archive(scene.call(), scene.store) == first
    assert first.archived_at is not None and first.updated_at == first.archived_at


def test_every_field_of_an_update_is_known_to_what_refuses_it_for_an_archived_store() -> None:
    """One that was not would be changed beside a second region."""
    assert {
        name for name, one in signature(Stores.update).parameters.items() if one.kind is one.KEYWORD_ONLY
    } == UPDATED


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_an_archived_store_can_be_deleted(scene: Scene, region: str) -> None:
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    scene.at(region).stores.delete(scene.call(), scene.store)
    with pytest.raises(NotFound):
        scene.at(region).stores.retrieve(scene.call(), scene.store)


def test_an_archived_store_is_listed_only_when_asked_for(scene: Scene) -> None:
    other = scene.create_store("other")
    scene.at(HOME).stores.archive(scene.call(), scene.store)
    assert [store.id for store in scene.stores().items] == [other.id]
    assert {store.id for store in scene.stores(include_archived=True).items} == {other.id, scene.store}
