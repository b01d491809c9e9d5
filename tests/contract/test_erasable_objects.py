"""What every adapter of `ports.objects.ErasableObjects` promises."""

from __future__ import annotations

import pytest

from memolith.ports.errors import ObjectExists, ObjectNotFound, Unavailable
from memolith.ports.objects import ObjectVersion, VersionMark
from tests.contract.worlds import FAR, HIDING, HOME, ObjectsWorld

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


def test_versions_are_listed_by_key_and_of_one_key_the_newest_first(world: ObjectsWorld) -> None:
    world.here.put_if_absent(f"{KEY}0", b"other", {})
    world.here.put_if_absent(KEY, b"one", {"id": "1"})
    world.overwrite(HOME, KEY, b"three")
    world.here.put_if_absent("elsewhere", b"text", {})
    erasable = world.erasable(HOME)
    page = erasable.versions(KEY)
    assert page.next_after is None
    older = [(KEY, False, 3)] if world.keeps_versions else []
    assert [(one.key, one.current, one.size_bytes) for one in page.versions] == [
        (KEY, True, 5),
        *older,
        (f"{KEY}0", True, 5),
    ]
    found = [erasable.read_version(one.key, one.version_id) for one in page.versions]
    assert [(one.body, dict(one.metadata)) for one in found] == [
        (b"three", {}),
        *[(b"one", {"id": "1"}) for _ in older],
        (b"other", {}),
    ]


def test_a_listing_of_versions_goes_on_where_it_stopped_even_within_a_key(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"1", {})
    for body in (b"2", b"3"):
        world.overwrite(HOME, KEY, body)
    world.here.put_if_absent(f"{KEY}0", b"4", {})
    erasable = world.erasable(HOME)
    whole = erasable.versions(KEY).versions
    assert len(whole) == (4 if world.keeps_versions else 2)
    found: list[ObjectVersion] = []
    after: VersionMark | None = None
    for _ in whole:
        page = erasable.versions(KEY, after, limit=1)
        found += page.versions
        after = page.next_after
    assert tuple(found) == whole
    assert after is None


@pytest.mark.parametrize("world", HIDING, indirect=True)
def test_versions_are_listed_again_once_an_erasure_is_over_the_delete_marker_that_hid_them(world: ObjectsWorld) -> None:
    assert world.hide is not None
    world.here.put_if_absent(KEY, b"secret", {})
    world.hide(HOME, KEY)
    erasable = world.erasable(HOME)
    with pytest.raises(Unavailable, match="hidden by a delete marker"):
        erasable.versions(KEY)
    assert erasable.erase(KEY, BLANK, {}) == 1
    assert [(one.key, one.current, one.size_bytes) for one in erasable.versions(KEY).versions] == [(KEY, True, 2)]


def test_a_prefix_without_versions_is_an_empty_page(world: ObjectsWorld) -> None:
    page = world.erasable(HOME).versions(f"{HOME}/log/none")
    assert (page.versions, page.next_after) == ((), None)


def test_a_version_that_is_gone_is_not_found(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"secret", {})
    erasable = world.erasable(HOME)
    (version,) = erasable.versions(KEY).versions
    erasable.erase(KEY, BLANK, {})
    with pytest.raises(ObjectNotFound):
        erasable.read_version(KEY, version.version_id)


def test_versions_of_other_regions_are_not_listed(world: ObjectsWorld) -> None:
    world.objects(FAR).put_if_absent(KEY, b"text", {})
    assert world.erasable(HOME).versions(KEY).versions == ()


def test_a_key_that_is_removed_is_gone_with_every_version_and_free_again(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"one", {})
    world.overwrite(HOME, KEY, b"two")
    world.here.put_if_absent(f"{KEY}0", b"begins alike", {})
    assert world.erasable(HOME).remove(KEY) == (2 if world.keeps_versions else 1)
    assert world.versions(HOME, KEY) == []
    with pytest.raises(ObjectNotFound):
        world.here.get(KEY)
    assert world.here.get(f"{KEY}0").body == b"begins alike"
    world.here.put_if_absent(KEY, b"again", {})


def test_what_is_not_there_is_removed_without_a_word(world: ObjectsWorld) -> None:
    assert world.erasable(HOME).remove(KEY) == 0
