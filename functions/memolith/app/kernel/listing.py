"""Listings of a bucket, and queries of a table, from end to end, page after page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from memolith.core.object_keys import StoreKey, parsed_key
from memolith.core.rows.base import Row
from memolith.ports.index import Found, Index, Query
from memolith.ports.objects import Objects

RowT = TypeVar("RowT", bound=Row)
KeyT = TypeVar("KeyT")


def row_pages(index: Index, query: Query) -> Iterator[Sequence[Found]]:
    """Yield the query's rows in pages of `query.limit`, none of them empty. One lazy query a page. Raises Unavailable.

    A page that is not full is the last.
    """
    while True:
        found = index.query(query)
        if found:
            yield found
        if len(found) < query.limit:
            return
        query = replace(query, after=found[-1].sort_key)


def rows_of(index: Index, query: Query, kind: type[RowT]) -> Iterator[RowT]:
    """Yield the query's rows one by one. Costs and raises as `row_pages`."""
    for page in row_pages(index, query):
        for found in page:
            yield kind.from_attributes(found.attributes)


def keys_under(objects: Objects, prefix: str, after: str | None = None, region: str | None = None) -> Iterator[str]:
    """Yield every key that begins with `prefix` and comes after `after`, in byte order. One lazy LIST per thousand.

    Raises:
        Unavailable: the bucket does not answer.
    """
    while True:
        page = objects.list(prefix, after=after, region=region)
        yield from page.keys
        after = page.next_after
        if after is None:
            return


def keys_of(
    objects: Objects, kind: type[KeyT], prefix: str, after: str | None = None, region: str | None = None
) -> Iterator[KeyT]:
    """Yield the keys of one kind under a prefix, parsed. Costs and raises as `keys_under`.

    Passes over any other object: a folder that a person made in the S3 console is one, and is replicated.
    """
    for text in keys_under(objects, prefix, after, region):
        key = parsed_key(text)
        if isinstance(key, kind):
            yield key


def next_store(objects: Objects, home: str, after_id: str) -> StoreKey | None:
    """Return the first record under a home's prefix of the first store after `after_id`, in order of ids.

    One LIST; where an object that is none of Memolith's comes first, one more for each thousand of them.

    Raises:
        Unavailable: the bucket does not answer.
    """
    prefix = f"{home}/store/"
    page = objects.list(prefix, after=f"{prefix}{after_id}/~" if after_id else None, limit=1)
    for key in map(parsed_key, page.keys):
        if isinstance(key, StoreKey):
            return key
    return None if page.next_after is None else next(keys_of(objects, StoreKey, prefix, page.next_after), None)


def keys_missing(objects: Objects, prefix: str, source: str) -> Iterator[str]:
    """Yield keys that `source`'s bucket has under a prefix and this region's has not; both listings have one order.

    Raises:
        Unavailable: a bucket does not answer.
    """
    here = keys_under(objects, prefix)
    present = next(here, None)
    for key in keys_under(objects, prefix, region=source):
        while present is not None and present < key:
            present = next(here, None)
        if present != key:
            yield key
