"""Reading the text of versions: from this region's bucket, or, while it has not been replicated, from its home's."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.app.region import Region
from cairn.core.errors import Unavailable
from cairn.core.records import Entry
from cairn.core.slots import LogKey, LogRef
from cairn.ports import errors as port_errors


class Contents:
    """Bodies of log objects as text."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def read(self, store_id: str, position: LogRef) -> str | None:
        """The text at a position; None once it has been blanked. One GET, a second one where it has not arrived.

        Raises:
            Unavailable: it is not here, and its home does not answer.
        """
        key = LogKey(store_id, position.path_hash, position.slot)
        home = position.slot.epoch.home
        for region in dict.fromkeys((self._region.name, home)):
            try:
                found = self._region.objects.get(str(key), region)
            except port_errors.ObjectNotFound:
                continue
            except port_errors.Unavailable as error:
                raise Unavailable(f"the content has not arrived here, and {region} does not answer") from error
            return None if Entry.from_metadata(key, found.metadata).blank else found.body.decode()
        raise Unavailable("the content has not arrived here yet; try again")

    def read_many(self, store_id: str, positions: Sequence[LogRef]) -> list[str | None]:
        """Several texts at once, in order."""
        return self._region.parallel.run([lambda ref=ref: self.read(store_id, ref) for ref in positions])  # type: ignore[misc]


def within_budget(sizes_bytes: Sequence[int], budget_bytes: int) -> int:
    """How many of the first texts fit into one answer; at least one, so that a listing always moves on."""
    total = 0
    for count, size_bytes in enumerate(sizes_bytes):
        total += size_bytes
        if total > budget_bytes and count > 0:
            return count
    return len(sizes_bytes)
