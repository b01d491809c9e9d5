"""What every adapter of `ports.index.Index` promises of queries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from memolith.core.rows.base import RowKey
from memolith.core.rows.content import PathRow, VersionRow
from memolith.ports.errors import Unavailable
from memolith.ports.index import Change, Found, Query
from tests.contract.worlds import IndexWorld

STORE = "memstore_1"
PATHS = ("/", "/a", "/a/b", "/a/b/c", "/a0", "/b", "/é", "/é/x", "/～", "/🧠", "/🧠🧠")


@pytest.fixture
def filled(rows: IndexWorld) -> IndexWorld:
    changes = [Change(PathRow.key(STORE, path), None, {"path": path}) for path in reversed(PATHS)]
    neighbour = Change(PathRow.key("memstore_2", "/a"), None, {"path": "another store's"})
    rows.index.commit([*changes, neighbour])
    return rows


def sort_keys(found: Sequence[Found]) -> tuple[str, ...]:
    return tuple(row.sort_key for row in found)


def test_a_partition_is_read_in_byte_order_of_its_sort_key(filled: IndexWorld) -> None:
    found = filled.index.query(Query("paths", STORE))
    assert sort_keys(found) == PATHS == tuple(sorted(PATHS, key=str.encode))
    assert [row.attributes["path"] for row in found] == list(PATHS)
    assert [row.key for row in found] == [PathRow.key(STORE, path) for path in PATHS]


def test_a_query_that_asks_for_some_attributes_has_these_alone_and_the_keys(filled: IndexWorld) -> None:
    row = {"path": "/x", "position": "h/1", "content_size_bytes": 7, "blank": True}
    filled.index.commit([Change(VersionRow.key(STORE, "memver_1"), None, row)])
    (found,) = filled.index.query(Query("versions", STORE, only=("position", "blank", "redacted_at")))
    assert found == Found(VersionRow.key(STORE, "memver_1"), "memver_1", {"position": "h/1", "blank": True})
    (found,) = filled.index.query(Query("paths", STORE, prefix="/a/b/", after="/a/b", only=("position",)))
    assert found == Found(PathRow.key(STORE, "/a/b/c"), "/a/b/c", {})


@pytest.mark.slow
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 100])
def test_prefix_after_and_limit_together_are_what_a_naive_reading_gives(
    filled: IndexWorld, descending: bool, limit: int
) -> None:
    """Every prefix with every start, those outside the prefix too."""
    for prefix, after in itertools.product(
        ("", "/a", "/a/", "/é", "/🧠", "/c"), (None, "", "/", "/a", "/a/b", "/a5", "/é", "/z", "/🧠🧠", "z")
    ):
        ordered = [path for path in PATHS if path.startswith(prefix)]
        if descending:
            expected = [path for path in reversed(ordered) if after is None or path < after]
        else:
            expected = [path for path in ordered if after is None or path > after]
        query = Query("paths", STORE, prefix=prefix, after=after, limit=limit, descending=descending)
        assert sort_keys(filled.index.query(query)) == tuple(expected[:limit]), (prefix, after)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 5, 11, 12])
def test_pages_follow_one_another_without_a_gap(filled: IndexWorld, limit: int, descending: bool) -> None:
    seen: list[str] = []
    after = None
    while len(seen) < len(PATHS):
        page = filled.index.query(Query("paths", STORE, after=after, limit=limit, descending=descending))
        assert len(page) == min(limit, len(PATHS) - len(seen))
        seen += sort_keys(page)
        after = page[-1].sort_key
    assert seen == list(reversed(PATHS) if descending else PATHS)
    assert not filled.index.query(Query("paths", STORE, after=after, limit=limit, descending=descending))


def test_a_query_sees_each_commit_at_once(filled: IndexWorld) -> None:
    filled.index.commit([Change(PathRow.key(STORE, "/a"), {"path": "/a"}, None)])
    filled.index.commit([Change(PathRow.key(STORE, "/a1"), None, {})])
    found = filled.index.query(Query("paths", STORE, prefix="/a"))
    assert sort_keys(found) == ("/a/b", "/a/b/c", "/a0", "/a1")


def test_a_sort_key_may_be_as_long_as_a_path_and_still_be_continued_from(rows: IndexWorld) -> None:
    """Ours to keep: a start made longer by one byte would be refused by DynamoDB, though not by moto."""
    first, second = "/" + "a" * 1_023, "/" + "a" * 1_022 + "b"
    rows.index.commit([Change(PathRow.key(STORE, path), None, {}) for path in (first, second)])
    assert sort_keys(rows.index.query(Query("paths", STORE, after=first))) == (second,)
    assert sort_keys(rows.index.query(Query("paths", STORE, prefix="/a", after=first))) == (second,)


def test_more_rows_than_one_answer_holds_are_counted_and_found(rows: IndexWorld) -> None:
    """Two rows of 300 KB each and more: an answer ends at 1 MB."""
    for number in range(5):
        rows.index.commit([Change(PathRow.key(STORE, f"/{number}"), None, {"path": "x" * 300_000})])
    assert len(rows.index.query(Query("paths", STORE))) == 5
    assert rows.index.count("paths", STORE) == 5


def test_a_count_is_of_one_partition(filled: IndexWorld) -> None:
    assert filled.index.count("paths", STORE) == len(PATHS)
    assert filled.index.count("paths", "memstore_2") == 1
    assert filled.index.count("paths", "memstore_3") == 0


def version(number: int, memory_id: str, generation: int) -> Change:
    row = VersionRow(
        store_id=STORE,
        version_id=f"memver_{number}",
        memory_id=memory_id,
        generation=generation,
        memory_key=f"{STORE}#{memory_id}",
        generation_key=f"{generation:010d}",
        time_key=f"{number:020d}#memver_{number}",
    )
    return Change(VersionRow.key(STORE, row.version_id), None, row.to_attributes())


@pytest.fixture
def history(rows: IndexWorld) -> IndexWorld:
    rows.index.commit([version(1, "m", 1), version(2, "n", 1), version(3, "m", 2), version(4, "m", 3)])
    redacted_only = VersionRow(store_id=STORE, version_id="memver_5", redacted_at=1, blank=True)
    rows.index.commit([Change(VersionRow.key(STORE, "memver_5"), None, redacted_only.to_attributes())])
    rows.settle()
    return rows


def test_a_memorys_versions_are_read_by_generation(history: IndexWorld) -> None:
    query = Query("versions", f"{STORE}#m", index="by_memory", descending=True)
    found = history.index.query(query)
    assert [row.key for row in found] == [VersionRow.key(STORE, f"memver_{number}") for number in (4, 3, 1)]
    assert sort_keys(found) == ("0000000003", "0000000002", "0000000001")
    assert VersionRow.from_attributes(found[0].attributes).memory_id == "m"


def test_a_stores_versions_are_read_by_time_and_continued(history: IndexWorld) -> None:
    first = history.index.query(Query("versions", STORE, index="by_time", limit=3))
    rest = history.index.query(Query("versions", STORE, index="by_time", limit=3, after=first[-1].sort_key))
    assert [row.key.sk for row in [*first, *rest]] == [f"memver_{number}" for number in (1, 2, 3, 4)]
    newest = history.index.query(Query("versions", STORE, index="by_time", limit=1, descending=True))
    assert [row.key.sk for row in newest] == ["memver_4"]


def test_an_index_takes_a_prefix_too(history: IndexWorld) -> None:
    found = history.index.query(Query("versions", STORE, index="by_time", prefix=f"{3:020d}"))
    assert [row.key.sk for row in found] == ["memver_3"]


def test_a_row_without_an_indexs_attributes_is_not_in_it_until_it_has_them(history: IndexWorld) -> None:
    key = VersionRow.key(STORE, "memver_5")
    before = history.index.read([key])[key]
    assert key not in [row.key for row in history.index.query(Query("versions", STORE, index="by_time"))]
    history.index.commit([Change(key, before, {**before, "time_key": "9#memver_5"})])
    history.settle()
    assert key in [row.key for row in history.index.query(Query("versions", STORE, index="by_time"))]
    history.index.commit([Change(key, {**before, "time_key": "9#memver_5"}, before)])
    history.settle()
    assert key not in [row.key for row in history.index.query(Query("versions", STORE, index="by_time"))]


def test_a_row_that_goes_leaves_every_index(history: IndexWorld) -> None:
    key = VersionRow.key(STORE, "memver_4")
    history.index.commit([Change(key, history.index.read([key])[key], None)])
    history.settle()
    for query in (Query("versions", f"{STORE}#m", index="by_memory"), Query("versions", STORE, index="by_time")):
        assert key not in [row.key for row in history.index.query(query)]


def test_a_row_whose_key_in_an_index_changes_moves(history: IndexWorld) -> None:
    key = VersionRow.key(STORE, "memver_1")
    before = history.index.read([key])[key]
    history.index.commit([Change(key, before, {**before, "memory_key": f"{STORE}#o"})])
    history.settle()
    moved = history.index.query(Query("versions", f"{STORE}#o", index="by_memory"))
    left = history.index.query(Query("versions", f"{STORE}#m", index="by_memory"))
    assert [row.key for row in moved] == [key]
    assert key not in [row.key for row in left]


def test_several_rows_may_share_an_indexs_keys(rows: IndexWorld) -> None:
    rows.index.commit([version(1, "m", 1), version(2, "m", 1)])
    rows.settle()
    found = rows.index.query(Query("versions", f"{STORE}#m", index="by_memory"))
    assert {row.key.sk for row in found} == {"memver_1", "memver_2"}


@pytest.mark.parametrize(
    "query",
    [
        Query("none", STORE),
        Query("paths", STORE, index="by_time"),
        Query("versions", STORE, index="none"),
        Query("paths", STORE, limit=0),
    ],
)
def test_queries_that_nothing_can_answer_are_a_defect_of_the_caller(rows: IndexWorld, query: Query) -> None:
    with pytest.raises(ValueError, match=r"none|no index|at least 1"):
        rows.index.query(query)


def test_a_generation_that_is_not_there_is_unavailable(rows: IndexWorld) -> None:
    with pytest.raises(Unavailable):
        rows.index.at(7).query(Query("paths", STORE))
    with pytest.raises(Unavailable):
        rows.index.at(7).query(Query("versions", STORE, index="by_time"))
    with pytest.raises(Unavailable):
        rows.index.at(7).count("paths", STORE)


def test_the_key_of_a_found_row_reads_it_again(history: IndexWorld) -> None:
    for found in history.index.query(Query("versions", f"{STORE}#m", index="by_memory")):
        assert isinstance(found.key, RowKey)
        assert history.index.read([found.key]) == {found.key: found.attributes}
