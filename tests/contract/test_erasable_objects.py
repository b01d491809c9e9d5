"""What every adapter of `ports.objects.ErasableObjects` promises."""

from __future__ import annotations

import pytest

from cairn.ports.errors import ObjectExists, ObjectNotFound
from tests.contract.worlds import FAR, HOME, ObjectsWorld

KEY = f"{HOME}/log/memstore_1/0001-0.0000000001"
BLANK = b"{}"


def test_an_erasure_leaves_exactly_the_blank(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"secret", {"id": "1", "path": "c2VjcmV0"})
    assert world.erasable(HOME).erase(KEY, BLANK, {"id": "1", "blank": "1"}) == 1
    found = world.here.get(KEY)
    assert (found.body, dict(found.metadata)) == (BLANK, {"id": "1", "blank": "1"})
    assert world.versions(HOME, KEY) == [BLANK]


def test_the_slot_stays_taken(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"secret", {})
    world.erasable(HOME).erase(KEY, BLANK, {})
    with pytest.raises(ObjectExists):
        world.here.put_if_absent(KEY, b"again", {})


def test_every_older_version_goes_however_many_there_are(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"one", {})
    for body in (b"two", b"three"):
        world.overwrite(HOME, KEY, body)
    assert world.erasable(HOME).erase(KEY, BLANK, {}) == (3 if world.keeps_versions else 1)
    assert world.versions(HOME, KEY) == [BLANK]


def test_an_erasure_may_be_repeated(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"secret", {})
    world.erasable(HOME).erase(KEY, BLANK, {})
    assert world.erasable(HOME).erase(KEY, BLANK, {}) == 1
    assert world.versions(HOME, KEY) == [BLANK]


def test_an_original_that_comes_after_its_erasure_is_erased_by_the_next(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"secret", {})
    world.erasable(HOME).erase(KEY, BLANK, {})
    world.overwrite(HOME, KEY, b"secret")
    world.erasable(HOME).erase(KEY, BLANK, {})
    assert world.versions(HOME, KEY) == [BLANK]


def test_a_key_that_was_never_here_is_not_made(world: ObjectsWorld) -> None:
    world.objects(FAR).put_if_absent(KEY, b"secret", {})
    with pytest.raises(ObjectNotFound):
        world.erasable(HOME).erase(KEY, BLANK, {})
    assert world.versions(HOME, KEY) == []


def test_keys_that_begin_alike_are_left_alone(world: ObjectsWorld) -> None:
    for key in (KEY, f"{KEY}0", KEY[:-1]):
        world.here.put_if_absent(key, b"text", {})
    assert world.erasable(HOME).erase(KEY, BLANK, {}) == 1
    assert world.versions(HOME, f"{KEY}0") == world.versions(HOME, KEY[:-1]) == [b"text"]


def test_other_regions_are_left_alone(world: ObjectsWorld) -> None:
    for region in (HOME, FAR):
        world.objects(region).put_if_absent(KEY, b"text", {})
    world.erasable(HOME).erase(KEY, BLANK, {})
    assert world.versions(FAR, KEY) == [b"text"]


def test_a_blank_has_the_limits_of_any_object(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"text", {})
    with pytest.raises(ValueError, match="metadata"):
        world.erasable(HOME).erase(KEY, BLANK, {"id": "x" * 2_048})
    assert world.versions(HOME, KEY) == [b"text"]


def test_older_versions_go_and_the_current_one_stays(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"one", {})
    for body in (b"two", BLANK):
        world.overwrite(HOME, KEY, body)
    world.here.put_if_absent(f"{KEY}0", b"text", {})
    assert world.erasable(HOME).delete_older(KEY) == (2 if world.keeps_versions else 0)
    assert world.versions(HOME, KEY) == [BLANK]
    assert world.versions(HOME, f"{KEY}0") == [b"text"]


def test_deleting_older_versions_may_be_repeated_and_may_find_nothing(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, BLANK, {})
    assert world.erasable(HOME).delete_older(KEY) == world.erasable(HOME).delete_older(KEY) == 0
    assert world.versions(HOME, KEY) == [BLANK]
    assert world.erasable(HOME).delete_older(f"{HOME}/log/none") == 0
