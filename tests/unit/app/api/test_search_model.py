"""Searching with a model of meanings: the model itself, in a deployment over adapters in memory."""

from __future__ import annotations

import json

import pytest

from memolith.adapters.encoders.use import UseEncoder
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.search import packer
from memolith.app.search.passage_vectors import AT_ONCE
from memolith.core.objects.search_pack import PackKey
from memolith.ports.packs import Pack
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched

ENCODER = UseEncoder()
BACKUP = "Die Datenbank wird jede Nacht um zwei Uhr gesichert."
QUESTION = "At what time is the database backed up?"


def searched(**texts: str) -> Searched:
    scene = Searched(encoder=ENCODER)
    for name, text in texts.items():
        scene.create(f"/{name}.md", text)
    scene.deliver()
    scene.pack()
    scene.cold()
    return scene


def newest_pack(scene: Searched) -> Pack:
    stored = scene.cloud.buckets.current(HOME, scene.packs()[-1])
    assert stored is not None
    return SqlitePacks().open(stored.body)


@pytest.mark.slow
def test_a_memory_in_another_language_is_found_though_no_word_leads_to_it() -> None:
    scene = searched(sicherung=BACKUP, food="The team orders pizza on Fridays.")
    [hit] = scene.hits(QUESTION)
    assert hit.memory.path == "/sicherung.md"
    assert "jede Nacht" in hit.excerpt
    assert scene.hits(QUESTION, path_prefix="/elsewhere/") == (), "a restriction holds for what is near, too"
    assert scene.search("quarterly revenue forecast spreadsheets") == [], "what is about something else is not near"


@pytest.mark.slow
def test_of_memories_with_the_same_words_the_one_that_means_it_comes_first() -> None:
    texts = {
        "a": "The mouse was caught by the trap.",
        "b": "The mouse has broken buttons.",
    }
    question = "the mouse is defective"
    alike = Searched()
    for name, text in texts.items():
        alike.create(f"/{name}.md", text)
    assert searched(**texts).search(question)[0] == "/b.md"
    assert alike.search(question)[0] == "/a.md", "without the model the order is another, or this test shows nothing"


def test_a_memory_that_is_newer_than_the_vectors_is_found_by_its_words_among_the_others() -> None:
    scene = searched(old="Backups of the database run at two.", food="The team orders pizza on Fridays.")
    scene.create("/new.md", "Backups of the database run at three now.")
    assert set(scene.search("When do backups of the database run?")) == {"/old.md", "/new.md"}


def test_no_vector_is_kept_of_a_text_that_was_replaced_erased_withheld_or_deleted() -> None:
    scene = searched(
        changed=BACKUP, withheld=f"{BACKUP} Immer.", deleted=f"{BACKUP} Täglich.", food="Pizza on Fridays."
    )
    ids = {one.path: one for one in scene.page().items}
    before = newest_pack(scene)
    name, kept = ENCODER.name, before.heads()
    assert set(before.vectors(name, list(kept))) == set(kept) and len(kept) == 4
    old = before.vectors(name, [ids["/changed.md"].id])[ids["/changed.md"].id]  # type: ignore[union-attr]  # a memory, and no folder
    scene.update(ids["/changed.md"], "Nothing of it is left.")  # type: ignore[arg-type]  # a memory, and no folder
    scene.redact(ids["/changed.md"].version_id)  # type: ignore[union-attr]  # a memory, and no folder
    scene.judge(ids["/withheld.md"])  # type: ignore[arg-type]  # a memory, and no folder
    scene.delete(ids["/deleted.md"].id)  # type: ignore[union-attr]  # a memory, and no folder
    assert scene.search(QUESTION) == [], "the index has the last word on the vectors of the old pack"
    scene.deliver()
    scene.pack()
    [key] = scene.packs()
    bodies = [version.object.body for version in scene.cloud.buckets.versions(HOME, key)]
    assert len(bodies) == 1 and old not in bodies[0]
    after = newest_pack(scene)
    assert set(after.heads()) == {ids["/changed.md"].id, ids["/food.md"].id}  # type: ignore[union-attr]  # a memory, and no folder
    assert set(after.vectors(name, list(kept))) == set(after.heads())
    scene.cold()
    assert scene.search(QUESTION) == []


def test_what_there_was_no_time_to_encode_is_encoded_for_the_packs_that_follow() -> None:
    scene = Searched(encoder=ENCODER)
    count = AT_ONCE + 2
    for number in range(count):
        scene.create(f"/n/{number}.md", f"Note {number} on the weather.")
    scene.deliver()
    within, packer.ENCODED_WITHIN_US = packer.ENCODED_WITHIN_US, 0
    try:
        scene.pack()
        assert len(newest_pack(scene).without_vectors(ENCODER.name, count)) == count - AT_ONCE
        [message] = scene.cloud.sites[HOME].packings.take(10)
        assert json.loads(message)["pack"] == scene.store
        scene.cloud.sites[HOME].packings.send([message])
        scene.cloud.pack_all()
    finally:
        packer.ENCODED_WITHIN_US = within
    assert newest_pack(scene).without_vectors(ENCODER.name, count) == []
    assert scene.packs()[-1] == f"{PackKey.prefix(scene.store)}{2:010d}"
    assert scene.cloud.sites[HOME].packings.take(10) == []
