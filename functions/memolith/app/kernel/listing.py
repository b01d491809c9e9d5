"""Listings of a bucket from end to end, page after page."""

from __future__ import annotations

from collections.abc import Iterator

from memolith.ports.objects import Objects


def keys_under(objects: Objects, prefix: str, after: str | None = None, region: str | None = None) -> Iterator[str]:
    """Yield every key that begins with `prefix` and comes after `after`, in byte order. One lazy LIST per thousand.

    Raises:
        PortError: the bucket does not answer.
    """
    while True:
        page = objects.list(prefix, after=after, region=region)
        yield from page.keys
        after = page.next_after
        if after is None:
            return


def keys_missing(objects: Objects, prefix: str, source: str) -> Iterator[str]:
    """Yield keys that `source`'s bucket has under a prefix and this region's has not; both listings have one order.

    Raises:
        PortError: a bucket does not answer.
    """
    here = keys_under(objects, prefix)
    present = next(here, None)
    for key in keys_under(objects, prefix, region=source):
        while present is not None and present < key:
            present = next(here, None)
        if present != key:
            yield key
