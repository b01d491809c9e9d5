"""What a store knows of a text besides the text itself goes with it: each kind of it, however the text is taken away.

Vectors, of which no word can be looked for, are in `test_search_model`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.adapters.sqlite import SqlitePacks
from memolith.adapters.sqlite.database import SharedDatabase
from memolith.adapters.sqlite.pack import SqlitePack
from memolith.app.kernel.results import Memory
from memolith.core.errors import MemolithError
from memolith.core.objects.search_pack import PackKey
from tests.unit.app.scene import AWAY, HOME, INDEXED
from tests.unit.app.searched import Searched

SECRET = "wombatword"
TEXT = f"""---
title: About Wombatword
type: {SECRET}
tags: [{SECRET}]
people: [Wombatword]
---

- [{SECRET}] The limit of [[Gateway]] is 30 {SECRET} #{SECRET} ({SECRET})
- [limit] The timeout of [[Gateway]] is 30 s
- {SECRET} [[Gateway]]
- contradicts [[Gateway]]

Wombatword keeps it, see [[{SECRET}]] and [it](/{SECRET}.md). The {SECRET} is hidden here.
"""
OTHER = "# Gateway\n\n- [limit] The timeout is 60 s\n- [limit] The retries are 3\n"


class Known(Searched):
    """A store that has come to know a text in every way that there is: packed, in dispute, and decided."""

    def __init__(self, take_away: Callable[[Known], None] | None = None) -> None:
        """Make it, of a text whose path tells it, too, unless it stays in a listing or in the version that deletes."""
        super().__init__()
        path = "/hidden.md" if take_away in (withheld, deleted_and_redacted) else f"/{SECRET}.md"
        self.made = self.create(path, TEXT)
        self.other = self.create("/gateway.md", OTHER)
        self.again()
        assert {one.kind for one in self.conflicts()} == {"values", "declared"}
        one = next(one for one in self.conflicts() if one.kind == "values")
        versions = [side.version_id for side in one.sides]
        resolve = self.at(HOME).conflict_resolutions.resolve
        resolve(self.call(), self.store, one.id, version_ids=versions, keep="both")
        self.again()
        self.instant = self.clock.now_us()
        self.clock.advance(60)
        for region in (HOME, AWAY):
            self.cloud.claim_complete(region, self.clock.now_us())

    def again(self) -> None:
        """Everything arrives everywhere, and every region makes its pack; readers start anew."""
        self.deliver()
        for region in (HOME, AWAY):
            answer = self.cloud.peers.call(region, "packer", {"call": "pack", "store_id": self.store})
            assert "error" not in answer
        self.deliver()
        self.cold()

    def conflicts(self, resolved: bool = False) -> tuple[Any, ...]:
        page = self.at(HOME).conflicts.page
        asked: Any = {"path_prefix": None, "superseded": False, "limit": 10, "resolved": resolved}
        return page(self.call(), self.store, **asked).items

    def answers(self, region: str) -> Iterator[str]:
        """Yield what every question that might show the text is answered with; none of them names it right."""
        site, call, store = self.at(region), self.call, self.store
        now_us = self.instant
        slip = "wombatwort"
        recall: Any = {"recent_tools": [], "loaded": [], "limit": 5, "max_tokens": 4_000}
        around: Any = {"depth": 3, "since": None, "page": 1, "page_size": 10, "max_related": 10}
        linked: Any = {"root": "gateway.md", "direction": "both", "depth": 3, "types": [], "limit": 10}
        stated: Any = {"category": None, "tag": None, "valid_at": None, "query": None, "limit": 100}
        listed: Any = {"path_prefix": None, "superseded": False, "limit": 10}
        questions: list[Callable[[], object]] = [
            lambda: site.search.search(call(), store, query=f"{slip} hidden limit timeout keeps", limit=10),
            lambda: site.search.search(call(), store, query="who keeps the hidden gateway?", limit=10),
            lambda: site.search.search(call(), store, query="hidden timeout", limit=10, as_of=now_us),
            lambda: site.recall.recall(call(), store, query=f"the hidden timeout limit {slip}", **recall),
            lambda: site.graph.context(call(), store, url="*", **around),
            lambda: site.graph.context(call(), store, url="*", **around, as_of=now_us),
            lambda: site.graph.reach(call(), store, **linked),
            lambda: site.graph.observations(call(), store, **stated),
            lambda: site.conflicts.page(call(), store, **listed),
            lambda: site.conflicts.page(call(), store, **listed, resolved=True),
            lambda: site.bulk_read.page(call(), store, after=None),
        ]
        for ask in questions:
            try:
                yield repr(ask())
            except MemolithError as refused:
                yield refused.message

    def packed(self, region: str) -> Iterator[str]:
        """Yield everything that the packs of a region have, table by table, blobs unpacked; and their bytes."""
        for key in self.packs(region):
            for version in self.cloud.buckets.versions(region, key):
                yield version.object.body.decode("latin-1")
                pack = SqlitePacks().open(version.object.body)
                assert isinstance(pack, SqlitePack)
                database: SharedDatabase = pack._database
                with database.read() as connection:
                    connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'words', 'row')")
                    yield repr(connection.execute("SELECT term FROM temp.terms").fetchall())
                    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                    for (name,) in tables:
                        for row in connection.execute(f"SELECT * FROM {name}").fetchall():  # noqa: S608 - its own
                            yield from (_unpacked(value) for value in row)
                pack.close()


def _unpacked(value: object) -> str:
    if isinstance(value, bytes):
        try:
            return zlib.decompress(value).decode("latin-1")
        except zlib.error:
            return value.decode("latin-1")
    return str(value)


def redacted(scene: Known) -> None:
    changed = scene.update(scene.made, "Nothing is left.", path="/changed.md")
    assert isinstance(changed, Memory)
    scene.redact(scene.made.version_id)


def deleted_and_redacted(scene: Known) -> None:
    scene.delete(scene.made)
    scene.redact(scene.made.version_id)


def withheld(scene: Known) -> None:
    scene.judge(scene.made)


def deleted_with_its_store(scene: Known) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)


WAYS = [redacted, deleted_and_redacted, withheld, deleted_with_its_store]


def shown(texts: Iterator[str]) -> list[str]:
    return [text[:200] for text in texts if SECRET in text.lower()]


def test_before_it_is_taken_away_every_kind_of_it_is_there() -> None:
    """Or the tests below show nothing."""
    scene = Known()
    for region in (HOME, AWAY):
        assert len(shown(scene.answers(region))) == 11, "each question is answered with it"
        assert len(shown(scene.packed(region))) > 10


@pytest.mark.parametrize("take_away", WAYS)
def test_nothing_that_is_answered_shows_a_text_that_was_taken_away_even_from_packs_made_before(
    take_away: Callable[[Known], None],
) -> None:
    scene = Known(take_away)
    take_away(scene)
    assert shown(scene.answers(HOME)) == [], "at once, where it was taken away"
    scene.deliver()
    assert shown(scene.answers(AWAY)) == []
    scene.cold()
    assert [shown(scene.answers(region)) for region in (HOME, AWAY)] == [[], []]


@pytest.mark.parametrize("take_away", WAYS)
def test_no_pack_and_no_row_has_anything_of_a_text_that_was_taken_away(take_away: Callable[[Known], None]) -> None:
    scene = Known(take_away)
    take_away(scene)
    if take_away is not deleted_with_its_store:
        scene.again()
    else:
        scene.deliver()
    for region in (HOME, AWAY):
        assert shown(scene.packed(region)) == []
        rows = json.dumps([list(scene.cloud.rows(region, table).values()) for table in INDEXED], default=str)
        assert SECRET not in rows.lower()


@pytest.mark.parametrize("take_away", [one for one in WAYS if one is not withheld])
def test_no_object_has_anything_of_a_text_that_was_erased_and_its_conflicts_and_decision_neither(
    take_away: Callable[[Known], None],
) -> None:
    scene = Known(take_away)
    take_away(scene)
    if take_away is not deleted_with_its_store:
        scene.again()
    scene.deliver()
    for region in (HOME, AWAY):
        keys = scene.cloud.buckets.page(region, "", None, 100_000).keys
        assert any("/resolution/" in key for key in keys)
        for key in keys:
            for version in scene.cloud.buckets.versions(region, key):
                kept = f"{key} {version.object.metadata} {version.object.body.decode('latin-1')}".lower()
                assert SECRET not in kept, key


def test_a_text_that_was_erased_is_a_side_of_no_conflict_and_the_decision_about_it_is_not_shown() -> None:
    scene = Known()
    assert len(scene.conflicts(resolved=True)) == 1
    redacted(scene)
    scene.again()
    assert scene.conflicts() == scene.conflicts(resolved=True) == ()
    found = scene.at(HOME).search.search(scene.call(), scene.store, query="timeout", limit=5).items
    assert [one.disputed for one in found] == [()]


@pytest.mark.parametrize("told_since", [True, False], ids=["the message comes again", "another message comes"])
def test_older_packs_are_removed_by_the_next_packer_where_the_one_that_made_the_newest_died(told_since: bool) -> None:
    scene = Searched()
    memory = scene.create("/a.md", SECRET)
    scene.pack()
    changed_us = scene.clock.now_us()
    scene.update(memory, "another", path=None)
    scene.redact(memory.version_id)
    scene.clock.advance(60)
    packer = scene.cloud.sites[HOME].packing
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, "peers.call", subject="eraser")):
        packer.pack(scene.store, changed_us)
    assert len(scene.packs()) == 2
    assert packer.pack(scene.store, changed_us if told_since else None) == 2
    assert [PackKey.parse(key).number for key in scene.packs()] == [2]


@pytest.mark.parametrize("packed", [True, False], ids=["by the packer", "by a reader"])
def test_no_pack_keeps_a_text_that_was_redacted_though_its_memorys_head_is_damaged(packed: bool) -> None:
    scene = Searched((HOME,))
    first = scene.create("/a.md", SECRET)
    scene.deliver()
    scene.pack()
    assert scene.search(SECRET) == ["/a.md"]
    scene.update(first, "another")
    [key] = [key for key, body in scene.objects() if body == b"another"]
    whole = scene.cloud.buckets.current(HOME, key)
    assert whole is not None
    scene.cloud.buckets.damage(HOME, key, replace(whole, body=b"altered"))
    scene.redact(first.version_id)
    scene.deliver()
    if packed:
        scene.pack()
        [made] = [body for key, body in scene.objects() if key in scene.packs()]
        assert SqlitePacks().open(made).heads() == {}
    else:
        assert scene.search("another") == []
        assert scene.at(HOME)._pack_cache._held[scene.store].pack.heads() == {}
