"""Sessions in the order of their birth, out of one range of ids for each region, compared with sorting them all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.core import ids, session_order

REGIONS = ("eu-west-1", "us-east-1", "us-east-10")
instants = st.integers(0, 5)
sessions = st.builds(
    lambda region, at, spare: f"sesn_{ids.region_code(region)}_{ids.ulid(at, bytes(9) + bytes([spare]))}",
    st.sampled_from(REGIONS),
    instants,
    st.integers(0, 2),
)


def from_ranges(known: set[str], after: str | None, count: int) -> list[str]:
    """As the tables answer: of each range the `count` highest ids below its bound."""
    found: list[str] = []
    for prefix, bound in session_order.ranges("sesn", REGIONS, after):
        inside = [id for id in known if id.startswith(prefix) and (bound is None or id < bound)]
        found += sorted(inside, reverse=True)[:count]
    return sorted(found, key=session_order.place, reverse=True)[:count]


@given(st.sets(sessions, max_size=20), st.integers(1, 4))
def test_pages_of_the_ranges_are_all_sessions_newest_first_each_once(known: set[str], count: int) -> None:
    seen: list[str] = []
    while page := from_ranges(known, seen[-1] if seen else None, count):
        seen += page
    assert seen == sorted(known, key=session_order.place, reverse=True)
    births = [ids.ulid_time_ms(id.rpartition("_")[2]) for id in seen]
    assert births == sorted(births, reverse=True)


@given(st.sets(sessions, max_size=20), st.integers(-2_000_000, 7_000))
def test_a_listing_until_an_instant_leaves_out_only_what_began_after_it(known: set[str], until_us: int) -> None:
    """What began up to a second later may be let through: the record's own time decides."""
    instant_us = until_us + 2_000_000
    found = from_ranges(known, session_order.until(instant_us), 100)
    for id in known:
        born_us = ids.ulid_time_ms(id.rpartition("_")[2]) * 1_000
        assert id in found or born_us > instant_us


def test_a_session_is_before_an_instant_only_with_a_second_to_spare() -> None:
    session = f"sesn_useast1_{ids.ulid(10_000, bytes(10))}"
    assert not session_order.is_before(session, 10_000_000)
    assert not session_order.is_before(session, 11_000_000)
    assert session_order.is_before(session, 11_001_000)
