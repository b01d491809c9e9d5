"""Searching: what is found, by whom, and how soon; what a cold start costs. All of it is ours."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import CallCounts, Fault, Strike
from memolith.app.kernel.results import Memory, ReadConsistency, RequestContext
from memolith.app.search.pack_cache import FETCHED_MAX
from memolith.core.errors import InvalidRequest, NotFound, Unavailable
from memolith.core.objects.search_pack import REFRESH_DELAY_S, PackKey
from memolith.core.search.phrases import have_all, phrases_of
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.app.searched import Searched

T = TypeVar("T")
LARGE = 300


@pytest.fixture(params=["without a pack", "with a pack"])
def scene(request: pytest.FixtureRequest) -> Iterator[Searched]:
    """Three memories, known to the pack or only to the index."""
    made = Searched()
    made.create("/deploy/checklist.md", "Before deploying to production, run the migrations and page Caroline.")
    made.create("/people/caroline.md", "Caroline leads the platform team. She prefers short status updates.")
    made.create("/food.md", "The team orders pizza on Fridays; no anchovies.")
    made.deliver()
    if request.param == "with a pack":
        made.pack(HOME)
        made.pack(AWAY)
    yield made


def test_words_are_found_whatever_their_form(scene: Searched) -> None:
    assert scene.search("how do we deploy a migration?") == ["/deploy/checklist.md"]
    assert scene.search("pizzas", at=AWAY) == ["/food.md"]


def test_a_name_leads_to_whom_it_names_first(scene: Searched) -> None:
    assert scene.search("Who is Caroline?")[0] == "/people/caroline.md"


def test_a_slip_of_one_letter_is_seen_through(scene: Searched) -> None:
    assert scene.search("anchovis") == ["/food.md"]


def test_a_hit_shows_the_place_that_answers(scene: Searched) -> None:
    [hit] = scene.hits("anchovies")
    assert "no anchovies" in hit.excerpt
    assert hit.memory.content is None


def test_what_was_just_written_is_found_and_what_was_just_changed_is_not_found_as_it_was(scene: Searched) -> None:
    scene.search("pizza")
    scene.create("/new.md", "The zeppelin arrives at noon.")
    food = next(item for item in scene.page().items if item.path == "/food.md")
    scene.update(food.id, "The team orders ramen on Fridays.")  # type: ignore[union-attr]  # a memory, and no folder
    assert scene.search("zeppelin") == ["/new.md"]
    assert scene.search("ramen") == ["/food.md"]
    assert scene.search("pizza") == []


def test_a_memory_that_was_moved_is_found_where_it_is_and_one_that_was_deleted_is_not(scene: Searched) -> None:
    scene.search("pizza")
    rows = {item.path: item.id for item in scene.page().items}  # type: ignore[union-attr]  # a memory, and no folder
    scene.update(rows["/food.md"], path="/archive/food.md")
    scene.delete(rows["/people/caroline.md"])
    assert scene.search("pizza") == ["/archive/food.md"]
    assert scene.search("platform") == []


def memory_at(scene: Scene, path: str) -> Memory:
    return next(item for item in scene.page().items if isinstance(item, Memory) and item.path == path)


def test_a_text_that_is_withheld_is_found_by_nobody_and_one_that_is_released_is_found_again(scene: Searched) -> None:
    food = memory_at(scene, "/food.md")
    assert scene.search("pizza") == ["/food.md"]
    scene.judge(food)
    assert scene.search("pizza") == [], "an admin has the quarantine"
    scene.deliver()
    scene.pack()
    scene.cold()
    assert scene.search("pizza") == []
    scene.at(HOME).quarantine.release(scene.call(), scene.store, food.version_id, reason="harmless")
    scene.deliver()
    scene.pack()
    scene.cold()
    assert scene.search("pizza") == ["/food.md"]


def test_what_another_region_wrote_is_found_once_it_is_indexed_here(scene: Searched) -> None:
    scene.create("/new.md", "The zeppelin arrives at noon.", at=AWAY)
    assert scene.search("zeppelin", at=AWAY) == ["/new.md"]
    scene.deliver()
    assert scene.search("zeppelin") == ["/new.md"]


def test_a_search_that_demands_the_homes_answer_gets_it_anywhere(scene: Searched) -> None:
    scene.create("/new.md", "The zeppelin arrives at noon.")
    assert scene.search("zeppelin", at=AWAY) == []
    call = RequestContext(scene.call().credentials, ReadConsistency(home=True))
    [hit] = scene.at(AWAY).search.search(call, scene.store, query="zeppelin", limit=5).items
    assert (hit.memory.path, "at noon" in hit.excerpt, hit.score > 0) == ("/new.md", True, True)
    page = scene.at(AWAY).bulk_read.page(call, scene.store, after=None)
    assert "/new.md" in [memory.path for memory in page.items]


def test_events_that_come_late_and_in_the_wrong_order_bring_nothing_back(scene: Searched) -> None:
    food = memory_at(scene, "/food.md")
    scene.update(food, "The team orders ramen.")
    scene.update(food, "The team orders falafel.")
    while scene.cloud.pending:
        scene.cloud.deliver_one(len(scene.cloud.pending) - 1)
    for at in (HOME, AWAY):
        scene.pack(at)
        scene.cold()
        assert scene.search("falafel", at=at) == ["/food.md"]
        assert scene.search("pizza ramen", at=at) == []


def test_a_date_in_the_query_draws_what_was_written_then() -> None:
    scene = Searched()
    written = []
    for letter in string.ascii_lowercase:
        scene.create(f"/log/{letter}.md", "Standup: the build was red again.")
        written.append(datetime.fromtimestamp(scene.clock.now_us() / 1_000_000, UTC))
        scene.clock.advance(86_400)
    assert scene.search(f"what happened to the build on {written[12]:%Y-%m-%d}?", limit=3)[0] == "/log/m.md"
    assert scene.search("what happened to the build yesterday?", limit=3)[0] == "/log/z.md"


def test_a_query_must_say_something_and_a_store_must_be_there(scene: Searched) -> None:
    with pytest.raises(InvalidRequest):
        scene.search("  ")
    with pytest.raises(NotFound):
        scene.at(HOME).search.search(scene.call(), "memstore_useast1_01m80gqgrfyn8361t51thggc0e", query="x", limit=1)
    assert scene.search("what is it?") == []
    assert scene.search('" OR ( NEAR *') == [], "nothing of a query is FTS5's language"


# ---- packs -----------------------------------------------------------------------------------------------------------


def test_a_cold_reader_of_a_large_store_reads_one_pack_and_not_its_memories() -> None:
    scene = Searched()
    for number in range(LARGE):
        scene.create(f"/n/{number}.md", f"Number {number} is a number.")
    scene.pack()
    scene.cold()
    cold, warm = CallCounts(), CallCounts()
    with scene.intercepted_by(cold):
        assert scene.search("number 17")[0] == "/n/17.md"
    with scene.intercepted_by(warm):
        assert scene.search("number 18")[0] == "/n/18.md"
    assert cold.calls == {"index.read": 2, "objects.list": 1, "objects.get": 1, "index.query": 1}
    assert warm.calls == {"index.read": 2, "index.query": 1}


def test_a_reader_that_lacks_more_than_it_may_fetch_has_the_packer_make_it() -> None:
    scene = Searched()
    for number in range(FETCHED_MAX + 1):
        scene.create(f"/n/{number}.md", f"Number {number} is a number.")
    assert scene.packs() == []
    assert scene.search("number 17")[0] == "/n/17.md"
    assert len(scene.packs()) == 1


@pytest.mark.slow
def test_where_no_packer_answers_a_search_says_so_and_the_next_one_tries_again(scene: Searched) -> None:
    for number in range(FETCHED_MAX + 1):
        scene.create(f"/n/{number}.md", f"Number {number} is a number.")
    with scene.struck_by(Strike(Fault.REFUSED, "peers.call")), pytest.raises(Unavailable):
        scene.search("number 17")
    assert scene.search("number 17")[0] == "/n/17.md"


def test_a_damaged_pack_is_made_anew(scene: Searched) -> None:
    scene.pack()
    [key] = scene.packs()
    whole = scene.cloud.buckets.current(HOME, key)
    assert whole is not None
    scene.cloud.buckets.put(HOME, replace(whole, body=whole.body[:5_000]), only_if_absent=False)
    scene.cold()
    assert scene.search("pizza") == ["/food.md"]
    assert scene.packs() == [str(PackKey.parse(key).following)], "the damaged one is gone"


def test_of_two_who_make_a_pack_at_once_one_makes_the_next_and_the_other_one_more_or_none(scene: Searched) -> None:
    scene.create("/new.md", "The zeppelin arrives at noon.")
    rivals: list[object] = []

    def around(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and not rivals:
            rivals.append("there")
            scene.pack()
        return act()

    with scene.intercepted_by(around):
        scene.pack()
    assert rivals
    [key] = scene.packs()
    scene.cold()
    assert scene.search("zeppelin") == ["/new.md"]
    assert PackKey.parse(key).number <= 3


def test_many_changes_are_one_message_and_one_pack() -> None:
    scene = Searched(packs_by_events=True)
    packings = scene.cloud.sites[HOME].packings
    packings.messages.clear()
    scene.clock.advance(REFRESH_DELAY_S)
    for number in range(5):
        scene.create(f"/n/{number}.md", f"Number {number} is a number.")
    scene.deliver()
    assert len(packings.messages) == 1
    scene.clock.advance(REFRESH_DELAY_S)
    scene.create("/late.md", "The zeppelin arrives at noon.")
    scene.deliver()
    assert len(packings.messages) == 2, "what comes later is told anew"
    scene.clock.advance(REFRESH_DELAY_S)
    scene.cloud.pack_all()
    assert len(scene.packs()) == len(scene.packs(AWAY)) == 1
    scene.cold()
    with scene.intercepted_by(counts := CallCounts()):
        assert scene.search("zeppelin") == ["/late.md"]
    assert counts.calls["objects.get"] == 1


# ---- erasure ---------------------------------------------------------------------------------------------------------


def eraser(scene: Scene, call: str, **more: object) -> Any:
    return scene.cloud.peers.call(HOME, "eraser", {"call": call, "store_id": scene.store, **more})


def test_a_redacted_text_leaves_the_packs_and_until_then_its_erasure_is_pending() -> None:
    scene = Searched()
    made = scene.create("/secret.md", "The wombatword is hidden here.")
    scene.pack()
    scene.update(made, "Nothing is hidden here.")
    scene.redact(made.version_id)
    scene.deliver()
    assert eraser(scene, "erasure.status", id=made.version_id)["state"] == "pending"
    scene.pack()
    assert eraser(scene, "erasure.status", id=made.version_id)["state"] == "erased"
    kept = [version.object.body for key in scene.packs() for version in scene.cloud.buckets.versions(HOME, key)]
    assert len(kept) == 1
    assert not any(b"wombatword" in body for body in kept)


def test_a_search_for_remains_looks_into_packs() -> None:
    scene = Searched()
    made = scene.create("/secret.md", "The wombatword is hidden here.")
    scene.pack()
    places = [f"{PackKey.prefix(scene.store)}{1:010d}"]
    for asked in ({"texts": ["wombatword is hidden"]}, {"paths": ["/secret.md"]}, {"hashes": [made.content_sha256]}):
        found, at = [], None
        while True:
            step = eraser(scene, "erasure.search", at=at, **asked)
            found += [one["place"] for one in step["found"]]
            at = step["next"]
            if at is None:
                break
        assert [place for place in found if place.startswith("local/")] == places


def test_of_a_deleted_store_no_pack_is_left_nor_comes_one_back() -> None:
    scene = Searched()
    scene.create("/secret.md", "The wombatword is hidden here.")
    scene.pack()
    [key] = scene.packs()
    late = scene.cloud.buckets.current(HOME, key)
    assert late is not None
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.deliver()
    assert scene.packs() == []
    assert scene.cloud.peers.call(HOME, "packer", {"call": "pack", "store_id": scene.store}) == {"number": None}
    scene.cloud.buckets.put(HOME, late, only_if_absent=True)
    scene.deliver()
    assert scene.packs() == []


# ---- phrases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"release train"', ["/a.md"]),
        ('"Release  TRAIN" friday', ["/a.md"]),
        ('"train release"', []),
        ('"the train"', ["/b.md"]),
        ('"train the new"', ["/b.md"]),
        ('"getUserById now"', ["/c.md"]),
        ('"crème brûlée"', ["/c.md"]),
        ("„Crème Brulee“", ["/c.md"]),
        ('"使用Redis缓存"', ["/d.md"]),
        ('"用Redis"', ["/d.md"]),
        ('"缓存使用"', []),
        ('"数据库"', ["/e.md"]),
        ('"数据库，迁移计划"', ["/e.md"]),
        ('"数据库，计划"', []),
        ('"旧数据 MySQL"', ["/f.md"]),
        ('"Redisを"', ["/f.md"]),
        ('"데이터베이스"', ["/g.md"]),
        ('"데이터베이스를 옮겼다"', ["/g.md"]),
        ('"데이터베이스 옮겼다"', []),
        ('"release train" "every friday"', ["/a.md"]),
        ('"release train" "the new"', []),
        ('"release trains"', []),
        ('"release train', ["/a.md", "/b.md"]),
        ('"frobnicate the"', []),
        ('"release trains"?', []),
        ('When does the "release trains" leave?', ["/a.md", "/b.md"]),
        ("Was ist „release trains“？ ", ["/a.md", "/b.md"]),
    ],
)
def test_what_is_in_quotation_marks_has_to_stand_in_the_text_just_so(query: str, found: list[str]) -> None:
    scene = Searched()
    scene.create("/a.md", "The release-train\nleaves every Friday.")
    scene.create("/b.md", "We train the new release managers. The train is late.")
    scene.create("/c.md", "Call getUserById now. Creme brulee on Mondays.")
    scene.create("/d.md", "我们使用Redis缓存数据。")
    scene.create("/e.md", "我们上个星期五晚上在会议室里讨论了一个关于生产环境数据库，迁移计划已经完成。")
    scene.create("/f.md", "旧系统大部分还在使用我们自己的机房里的各种不同版本的旧数据 MySQL。Redisを使う。")
    scene.create("/g.md", "어제 데이터베이스를 옮겼다.")
    assert sorted(scene.search(query)) == found


@given(st.text(alphabet="ab \"“”„«»'-\nüÜé用缓Kk.", max_size=40), st.text(max_size=30))
def test_no_query_makes_a_phrase_that_fails_and_a_text_has_what_is_quoted_from_it(text: str, query: str) -> None:
    phrases_of(query)
    have_all(query, phrases_of(text))
    quoted = " ".join(re.findall(r"[ab]+", text.lower()))
    assert have_all(quoted, phrases_of(f'"{quoted}"'))


# ---- loading ---------------------------------------------------------------------------------------------------------


def test_a_store_is_loaded_with_one_get_for_its_pack_and_one_for_each_memory_that_it_lacks(scene: Searched) -> None:
    scene.pack()
    scene.create("/new.md", "The zeppelin arrives at noon.")
    scene.cold()
    with scene.intercepted_by(counts := CallCounts()):
        page = scene.at(HOME).bulk_read.page(scene.call(), scene.store, after=None)
    assert {memory.path: memory.content for memory in page.items}["/new.md"] == "The zeppelin arrives at noon."
    assert (len(page.items), page.next_after) == (4, None)
    assert counts.calls["objects.get"] == 2


def test_a_page_of_a_whole_store_ends_where_an_answer_would_be_too_large() -> None:
    scene = Searched()
    for number in range(60):
        scene.create(f"/n/{number}.md", f"{number}" + "x" * 100_000)
    scene.pack()
    paths: list[str] = []
    after, pages = None, 0
    while pages == 0 or after is not None:
        page = scene.at(HOME).bulk_read.page(scene.call(), scene.store, after=after)
        assert sum(len(memory.content or "") for memory in page.items) < 5_000_000
        paths += [memory.path for memory in page.items]
        after, pages = page.next_after, pages + 1
    assert sorted(paths) == sorted(f"/n/{number}.md" for number in range(60))
    assert pages == 2


def test_a_withheld_text_is_loaded_by_an_admin_who_asks(scene: Searched) -> None:
    scene.judge(memory_at(scene, "/food.md"))
    reader, text = scene.call(scene.cloud.key("read")), "The team orders pizza on Fridays; no anchovies."
    asking = replace(scene.call(), shows_withheld=True)
    for call, content in ((reader, None), (scene.call(), None), (asking, text)):
        page = scene.at(HOME).bulk_read.page(call, scene.store, after=None)
        food = next(memory for memory in page.items if memory.path == "/food.md")
        assert (food.content, food.withheld is not None) == (content, True)
