"""What an adapter of `ports.packs` promises. There is one: SQLite is everywhere that Python is."""

from __future__ import annotations

import resource
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from memolith.adapters.sqlite import SqlitePacks, incoming
from memolith.adapters.sqlite.database import READERS_OF_A_FILE
from memolith.core.search.analysis import length, passage
from memolith.ports.packs import DamagedPack, Document, Matching, Pack, Packs, Restriction

PACKS = SqlitePacks()


@pytest.fixture(params=["memory", "file"])
def packs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqlitePacks:
    """Where packs that arrive are."""
    monkeypatch.setattr(incoming, "IN_MEMORY_MAX_BYTES", 0)
    return PACKS if request.param == "memory" else SqlitePacks(folder=tmp_path)


def arrived(packs: Packs, body: bytes, piece_bytes: int = 1_000) -> Pack:
    """Open a pack that arrives in pieces."""
    with packs.incoming() as arriving:
        for start in range(0, len(body), piece_bytes):
            arriving.write(body[start : start + piece_bytes])
        return arriving.open()


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


TAGGED = (("tag", "home"), ("type", "note"))


def document(
    id: str,
    text: str,
    *,
    path: str = "/n/a",
    at: int = 0,
    names: str = "",
    version: str = "1",
    properties: tuple[tuple[str, str], ...] = (),
) -> Document:
    stems = tuple(passage(line.split()) for line in text.split("|"))
    return Document(
        id, version, path, "0" * 64, len(text), at, at, stems, (0,), length(stems),
        frozenset(names.split()), frozenset(properties), text,
    )  # fmt: skip


@pytest.fixture
def pack() -> Pack:
    made = PACKS.new()
    made.change(
        [
            document("a", "red door", at=10, names="ada"),
            document("b", "blue door|red", path="/m/b", at=20, properties=TAGGED),
        ],
        [],
    )
    return made


def matching(pack: Pack, stems: str, names: str = "", **more: object) -> list[str]:
    return pack.matching(Matching(stems.split(), names.split(), **more))  # type: ignore[arg-type]  # keywords of more than one type


def test_memories_match_by_any_stem_and_by_names_prefix_and_time(pack: Pack) -> None:
    assert set(matching(pack, "red door")) == {"a", "b"}
    assert matching(pack, "blue") == ["b"]
    assert matching(pack, "door", "ada") == ["a"]
    assert matching(pack, "door", within=Restriction(prefix="/m/")) == ["b"]
    assert matching(pack, "door", within=Restriction(prefix="/")) != []
    assert matching(pack, "door", within=Restriction(properties=TAGGED)) == ["b"]
    assert matching(pack, "door", within=Restriction(properties=(*TAGGED, ("tag", "other")))) == []
    assert matching(pack, "door", within=Restriction(created=(0, 20))) == ["a"]
    assert matching(pack, "door", within=Restriction(updated=(11, 21))) == ["b"]
    assert matching(pack, "red blue", every=True) == ["b"]
    assert matching(pack, "door", interval=(15, 25)) == ["b"]
    assert matching(pack, "", interval=(0, 15)) == ["a"]
    assert matching(pack, "") == []
    assert len(matching(pack, "door", limit=1)) == 1


@pytest.mark.parametrize("stem", ['"', "*", "a OR b", "NEAR", "t:", "'", "(", "-", "^a"])
def test_no_stem_is_taken_for_an_operator(pack: Pack, stem: str) -> None:
    assert pack.matching(Matching([stem, "blue"])) == ["b"]


def test_what_is_changed_replaces_and_what_is_gone_is_not_found(pack: Pack) -> None:
    pack.change([document("a", "green door", version="2")], ["b", "never-there"])
    assert matching(pack, "red") == []
    assert matching(pack, "green") == ["a"]
    assert pack.heads() == {"a": "2"}
    assert pack.heads(["a", "b"]) == {"a": "2"}
    assert pack.extent() == (1, 2.0)


def test_words_are_counted_and_those_that_begin_or_end_alike_are_offered(pack: Pack) -> None:
    assert pack.frequencies(["door", "red", "none"]) == {"door": 2, "red": 2}
    assert pack.name_frequencies(["ada", "red"]) == {"ada": 1}
    assert pack.stems_from("do") == {"door": 2}
    assert pack.stems_from("ad") == {}, "a name that is no stem of a text"
    assert pack.stems_to("oor") == {"door": 2}
    assert pack.stems_to("door") == pack.stems_to("da") == pack.stems_to("_oor") == {}
    pack.change([], ["a", "b"])
    assert pack.stems_from("") == pack.frequencies(["door"]) == pack.name_frequencies(["ada"]) == {}


def test_a_document_comes_back_as_it_was_but_for_its_text_which_is_asked_for(pack: Pack) -> None:
    [found] = pack.documents(["b", "none"])
    assert (found.memory_id, found.passages, found.path) == ("b", (" blue  door ", " red "), "/m/b")
    assert (found.length, found.starts) == (3, (0,))
    assert pack.contents(["a", "b", "none"]) == {"a": "red door", "b": "blue door|red"}


def test_texts_of_which_a_pack_has_the_beginning_are_listed_as_far_as_they_are_short_enough(pack: Pack) -> None:
    pack.change([replace(document(str(size), "red" * size), content=None) for size in (1, 2, 3)], [])
    assert (sorted(pack.cut(6)), pack.cut(2)) == (["1", "2"], [])


def test_a_pack_that_was_kept_is_the_same_and_can_be_changed_on(pack: Pack) -> None:
    opened = PACKS.open(pack.to_bytes())
    assert opened.heads() == pack.heads()
    opened.change([document("c", "zebra")], ["a"])
    assert matching(opened, "zebra") == ["c"]
    assert set(matching(pack, "red")) == {"a", "b"}, "the other one is another"


def test_a_pack_that_arrives_in_pieces_is_the_same_and_can_be_changed_on(
    pack: Pack, packs: Packs, tmp_path: Path
) -> None:
    opened = arrived(packs, pack.to_bytes())
    assert list(tmp_path.iterdir()) == [], "a file has no name, so that it is gone with its process"
    assert (opened.heads(), opened.size_bytes) == (pack.heads(), pack.size_bytes)
    assert opened.contents(["a"]) == {"a": "red door"}
    opened.change([document("c", "zebra")], ["a"])
    assert (matching(opened, "zebra"), matching(opened, "red")) == (["c"], ["b"])
    assert set(matching(opened.copy(), "zebra blue")) == {"b", "c"}
    assert PACKS.open(opened.to_bytes()).heads() == opened.heads()
    assert list(tmp_path.iterdir()) == []


def test_reads_of_a_pack_that_arrived_wait_for_a_change_and_for_a_turn(pack: Pack, packs: Packs) -> None:
    check_readers(arrived(packs, pack.to_bytes()), readers=2 * READERS_OF_A_FILE)


def test_a_pack_that_arrived_and_is_used_no_more_leaves_no_open_file(pack: Pack, packs: Packs) -> None:
    before = open_files()
    for _ in range(3):
        arrived(packs, pack.to_bytes()).heads()
        with packs.incoming() as arriving:
            arriving.write(b"the rest never comes")
    assert open_files() == before


def test_a_pack_for_which_the_disk_has_no_room_is_in_memory(pack: Pack, packs: Packs) -> None:
    body = pack.to_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(body) // 2 + 100, hard))
    try:
        opened = arrived(packs, body)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert opened.heads() == pack.heads()
    opened.change([document("c", "zebra")], [])
    assert matching(opened, "zebra") == ["c"]


def test_a_pack_for_which_there_is_no_folder_is_in_memory(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming, "IN_MEMORY_MAX_BYTES", 0)
    assert arrived(SqlitePacks(folder=tmp_path / "none"), pack.to_bytes()).heads() == pack.heads()


def test_what_arrives_and_is_no_pack_is_refused(pack: Pack, packs: Packs) -> None:
    for body in (b"", b"nonsense", bytes(9_000), pack.to_bytes()[:3_000]):
        with pytest.raises(DamagedPack):
            arrived(packs, body).heads()


def test_nothing_is_left_of_what_was_forgotten(pack: Pack) -> None:
    pack.change(
        [
            document(
                "c", "zebraword xylophoneword", path="/zebrapath", names="zebraname", properties=(("tag", "zebratag"),)
            )
        ],
        [],
    )
    opened = PACKS.open(pack.to_bytes())
    assert b"xylophoneword" in opened.to_bytes()
    opened.change([], ["c"])
    kept = opened.to_bytes()
    assert not any(word in kept for word in (b"zebraword", b"xylophoneword", b"zebrapath", b"zebraname", b"zebratag"))


def test_what_is_no_pack_or_one_of_another_format_is_refused(pack: Pack) -> None:
    for body in (b"", b"nonsense", pack.to_bytes()[:3_000]):
        with pytest.raises(DamagedPack):
            PACKS.open(body).heads()
    with sqlite3.connect(":memory:") as other:
        other.execute("PRAGMA user_version = 99")
        other.execute("CREATE TABLE t (a)")
    with pytest.raises(DamagedPack, match="format"):
        PACKS.open(other.serialize())


def test_stems_are_of_words_in_lower_case() -> None:
    assert PACKS.stem("deploying") == PACKS.stem("deploys") == PACKS.stem("deployed")
    assert PACKS.stem("東京") == "東京"


def test_reads_run_side_by_side_and_a_change_waits_for_them(pack: Pack) -> None:
    check_readers(pack, readers=4)


def check_readers(pack: Pack, readers: int) -> None:
    """Each reader sees all of a change or nothing of it."""
    failures: list[str] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            found = set(matching(pack, "red green"))
            if found not in ({"a", "b"}, {"a", "b", "c"}):
                failures.append(str(found))

    threads = [threading.Thread(target=read) for _ in range(readers)]
    for thread in threads:
        thread.start()
    for number in range(100):
        pack.change([document("c", "green hill", version=str(number))], [])
        pack.change([], ["c"])
    stop.set()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert matching(pack, "green") == []


def test_a_pack_that_was_closed_says_so_and_may_be_closed_again(pack: Pack) -> None:
    pack.close()
    pack.close()
    with pytest.raises(DamagedPack):
        pack.heads()


def test_vectors_belong_to_a_model_and_go_with_what_they_were_made_of(pack: Pack) -> None:
    assert pack.without_vectors("m", 5) == ["b", "a"], "those that changed last come first"
    assert pack.without_vectors("m", 1) == ["b"]
    pack.put_vectors("m", {"a": b"one", "b": b"", "never-there": b"x"})
    assert pack.vectors("m", ["a", "b", "c"]) == {"a": b"one", "b": b""}
    assert pack.vectors_within("m", Restriction(prefix="/m/"), 5) == {"b": b""}
    assert pack.vectors_within("m", Restriction(), 1) == {"b": b""}
    assert pack.without_vectors("m", 5) == []
    assert (pack.vectors("other", ["a"]), pack.without_vectors("other", 5)) == ({}, ["b", "a"])
    pack.put_vectors("other", {"a": b"two"})
    assert (pack.vectors("m", ["a"]), pack.vectors("other", ["a"])) == ({}, {"a": b"two"})
    pack.change([document("a", "green door", version="2")], ["b"])
    assert (pack.vectors("other", ["a"]), pack.vectors("m", ["b"])) == ({}, {})
    pack.put_vectors("m", {"a": b"three"})
    again = PACKS.open(pack.to_bytes())
    assert again.vectors("m", ["a"]) == {"a": b"three"}
    assert b"two" not in pack.to_bytes()


def test_a_text_that_a_pack_has_only_in_part_gets_no_vectors() -> None:
    pack = PACKS.new()
    pack.change([replace(document("a", "red door"), content=None)], [])
    assert pack.without_vectors("m", 5) == []


def test_a_copy_has_all_of_a_pack_and_changes_by_itself(pack: Pack) -> None:
    pack.put_vectors("m", {"a": b"one"})
    copy = pack.copy()
    assert (copy.heads(), copy.contents(["a"]), copy.extent()) == (pack.heads(), pack.contents(["a"]), pack.extent())
    assert copy.vectors("m", ["a"]) == {"a": b"one"}
    before = matching(pack, "green"), pack.heads()
    copy.change([document("c", "green hill")], ["a"])
    assert "c" in matching(copy, "green")
    assert (matching(pack, "green"), pack.heads()) == before
    copy.close()
    assert pack.heads() == before[1]
