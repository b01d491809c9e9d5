"""Cursors: what was issued comes back, anything else is refused and names ``page``."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.errors import InvalidRequest
from memolith.core.limits import CURSOR_LIFETIME_US
from memolith.wire import cursors

NOW_US = 1_790_000_000_000_000
LISTING = ("wrkspc_main", "memories", "memstore_x", None, 0)
listings = st.lists(st.none() | st.integers() | st.text(st.characters(codec="utf-8")), max_size=4).map(tuple)


@given(listing=listings, position=st.text(st.characters(codec="utf-8"), min_size=1, max_size=1024))
def test_a_cursor_gives_back_its_position(listing: cursors.Listing, position: str) -> None:
    cursor = cursors.issue(listing, position, NOW_US)
    assert cursors.position(cursor, listing, NOW_US + CURSOR_LIFETIME_US) == position


def test_the_longest_path_fits_into_a_cursor() -> None:
    assert cursors.position(cursors.issue(LISTING, "🧠" * 256, NOW_US), LISTING, NOW_US) == "🧠" * 256


@given(listing=listings, other=listings)
def test_a_cursor_of_one_listing_continues_no_other(listing: cursors.Listing, other: cursors.Listing) -> None:
    cursor = cursors.issue(listing, "/a", NOW_US)
    if [*map(repr, listing)] != [*map(repr, other)]:
        with pytest.raises(InvalidRequest, match="page: belongs to another listing"):
            cursors.position(cursor, other, NOW_US)


def test_a_cursor_expires() -> None:
    cursor = cursors.issue(LISTING, "/a", NOW_US)
    with pytest.raises(InvalidRequest, match="page: has expired"):
        cursors.position(cursor, LISTING, NOW_US + CURSOR_LIFETIME_US + 1)


def test_a_clock_that_is_behind_the_issuers_takes_its_cursors() -> None:
    assert cursors.position(cursors.issue(LISTING, "/a", NOW_US), LISTING, NOW_US - 60_000_000) == "/a"


@given(data=st.data())
def test_a_changed_cursor_is_refused(data: st.DataObject) -> None:
    cursor = cursors.issue(LISTING, "/some/path", NOW_US)
    raw = bytearray(base64.urlsafe_b64decode(cursor[5:] + "=" * (-len(cursor[5:]) % 4)))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    changed = "page_" + base64.urlsafe_b64encode(raw).decode().rstrip("=")
    with pytest.raises(InvalidRequest, match="page: is not a cursor"):
        cursors.position(changed, LISTING, NOW_US)


@given(cursor=st.text() | st.text("page_ABab01-_=", max_size=80))
def test_any_other_text_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest, match="page: is not a cursor"):
        cursors.position(cursor, LISTING, NOW_US)
