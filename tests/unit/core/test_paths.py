"""The grammar of paths against an oracle written from the API's sentence, not from the code.

"At most 1,024 bytes, starts with /, 1 to 20 segments, no empty, . or .. segment, no control (Cc) or format (Cf)
characters, no U+2028 or U+2029, in NFC, case-sensitive."
"""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memolith.core.errors import InvalidRequest
from memolith.core.listing import direct_child, past
from memolith.core.paths import ancestors, check_path, check_path_prefix, path_hash
from tests.unit.core import values

_FORBIDDEN = re.compile(
    "["
    + "".join(
        re.escape(chr(point))
        for point in range(0x110000)
        if unicodedata.category(chr(point)) in ("Cc", "Cf", "Zl", "Zp", "Cs")
    )
    + "]"
)
_SHAPE = re.compile(r"(/(?!\.{1,2}(/|\Z))[^/]+){1,20}\Z", re.DOTALL)


def allowed(path: str) -> bool:
    """The oracle."""
    return (
        _SHAPE.match(path) is not None
        and _FORBIDDEN.search(path) is None
        and len(path.encode("utf-8", "surrogatepass")) <= 1024
        and unicodedata.normalize("NFC", path) == path
    )


def accepted(path: str) -> bool:
    try:
        return check_path(path) == path
    except InvalidRequest as error:
        assert error.field == "path"
        assert path not in error.message or len(path) < 12, "an error repeats no path"
        return False


_odd = st.sampled_from(
    ["/", "//", ".", "..", "/.", "/..", "...", "a", "é", "e\u0301", "\u00ad", "\u200b", "\u2028", "\u2029", "\n", "~"]
)
_odder = st.sampled_from(["\x7f", "\ud800", "\U0010ffff", "\U000e0001", " ", "\\", "%2F", "ﬁ", "가", "K", "\u212a"])
_parts = st.one_of(_odd, _odder)


@example("")
@example("/")
@example("a")
@example("/a/")
@example("/" + "a" * 1023)
@example("/" + "a" * 1024)
@example("/" + "é" * 512)
@example("/a" * 20)
@example("/a" * 21)
@example("/a\n")
@given(st.one_of(st.text(max_size=12), st.lists(_parts, max_size=6).map("".join), values.paths).map(str))
def test_a_path_is_accepted_exactly_when_the_sentence_allows_it(path: str) -> None:
    assert accepted(path) == allowed(path)
    assert accepted(f"/{path}") == allowed(f"/{path}")


@given(st.integers(1000, 1030), st.sampled_from(["a", "é", "가", "\U0001f600"]))
def test_the_limit_is_in_bytes_and_not_in_characters(size: int, character: str) -> None:
    path = "/" + character * (size // len(character.encode()))
    assert accepted(path) == (len(path.encode()) <= 1024)


def test_paths_that_differ_in_case_are_two() -> None:
    assert check_path("/Notes") != check_path("/notes")


@given(st.lists(_parts, max_size=4).map(lambda parts: "/" + "".join(parts)))
def test_a_prefix_is_a_path_with_a_slash_after_it(path: str) -> None:
    prefix = f"{path}/"
    try:
        taken = check_path_prefix(prefix) == prefix
    except InvalidRequest as error:
        assert error.field == "path_prefix"
        taken = False
    assert taken == allowed(path)


def test_the_whole_store_is_a_prefix_and_half_a_segment_is_none() -> None:
    assert check_path_prefix("/") == "/"
    with pytest.raises(InvalidRequest, match="must end with /"):
        check_path_prefix("/notes")


@given(values.paths, values.paths)
def test_an_ancestor_is_what_a_descendants_path_begins_with(one: str, other: str) -> None:
    for above, below in ((one, other), (other, one)):
        assert (above in ancestors(below)) == (below.startswith(f"{above}/"))
    assert ancestors(f"{one}/x") == [*ancestors(one), one]


@given(values.paths, values.paths, st.binary(min_size=32, max_size=32))
def test_hashes_tell_paths_apart_and_salts_tell_stores_apart(one: str, other: str, salt: bytes) -> None:
    assert (path_hash(salt, one) == path_hash(salt, other)) == (one == other)
    assert path_hash(salt, one) != path_hash(salt + b"x", one)
    assert re.fullmatch("[0-9a-f]{64}", path_hash(salt, one))


@given(values.paths, values.paths)
def test_a_folder_is_what_stands_between_a_prefix_and_the_rest(folder: str, path: str) -> None:
    prefix = f"{folder}/"
    deep, direct = f"{prefix}{path[1:]}", f"{prefix}{path[1:].replace('/', '-')}"
    head, slash, _ = path[1:].partition("/")
    assert direct_child(prefix, deep) == (f"{prefix}{head}/" if slash else None)
    assert direct_child(prefix, direct) is None
    assert direct_child("/", deep) is not None


@given(values.paths, values.paths, values.paths)
def test_the_position_past_a_folder_is_after_all_of_it_and_before_the_rest(
    folder: str, inside: str, elsewhere: str
) -> None:
    position = past(f"{folder}/")
    assume(len((folder + inside).encode()) <= 1024 and not elsewhere.startswith(f"{folder}/"))
    assert position >= folder + inside or folder + inside > f"{folder}/\U0010ffff"
    assert (position < elsewhere) == (f"{folder}/" < elsewhere)


@pytest.mark.parametrize("size", [*range(1, 5), 500, *range(1_015, 1_023)])
def test_the_position_past_a_folder_fits_a_sort_key_and_passes_all_that_fits_the_folder(size: int) -> None:
    """A path has 1,024 bytes and so has DynamoDB's sort key, also in a condition."""
    folder = "/" + "a" * size + "/"
    room = 1024 - len(folder.encode())
    assert len(past(folder).encode()) <= 1024
    for character in ("\x7e", "\u07ff", "\uffff", "\U0010ffff"):
        if len(character.encode()) <= room:
            assert folder + character <= past(folder)
