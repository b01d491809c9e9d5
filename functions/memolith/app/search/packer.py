"""Making packs: out of the index and the objects of this region, whenever something in a store has changed.

    the newest pack, or an empty one -> the heads that the index has -> what differs -> the pack of the next number

That the number is free is the condition of the put, so that of two who make a pack of one store at once only one has
made the next. Older ones are removed by the eraser, which alone may.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping

from memolith.app.kernel.eraser_client import ask_eraser
from memolith.app.kernel.port_calls import find_head
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.app.log.store_log import StoreLog
from memolith.app.safety.text_access import TextReader
from memolith.app.safety.verdicts import Verdicts
from memolith.app.search.packs import Heads, KeptPacks, OpenedPack, differences
from memolith.app.search.passage_vectors import encode_passages
from memolith.core import ids
from memolith.core.epochs import homes_of, term_of
from memolith.core.errors import Busy, InvalidRequest
from memolith.core.objects.search_pack import SIZE_MAX_BYTES, Manifest, PackKey, text_max_bytes
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.identity import StoreRow
from memolith.core.times import is_due
from memolith.ports.packs import DamagedPack, Pack, Packs
from memolith.ports.queue import Queue

ATTEMPTS = 5
CLOCKS_US = 5_000_000
"""By how much the clocks of one region's functions may disagree: a pack that began later than a change by less may lack
it, and is made once more."""

STALE_US = 3_600_000_000
"""A pack in which nothing would change is put again once it is so old: readers look at all that came after it."""

ENCODED_WITHIN_US = 15_000_000
"""How long a pack's memories are encoded before it is put; the rest is for the next pack, which follows at once. Less
than the lease of a message on a laptop, and the laptop's other work waits as long."""

_log = logging.getLogger(__name__)


class Packer:
    """Makes the packs of one region."""

    def __init__(
        self,
        region: Region,
        packs: Packs,
        kept: KeptPacks,
        heads: Heads,
        records: StoreLog,
        later: Queue | None = None,
    ) -> None:
        """Make it. `later` takes the stores of which not all was encoded; without it, the rest is for the next pack."""
        self._region = region
        self._later = later
        self._packs = packs
        self._kept = kept
        self._heads = heads
        self._records = records

    def pack(self, store_id: str, since: int | None = None, from_scratch: bool = False) -> int | None:
        """Bring a store's segment up to date; return the number of the one that counts, None if the store is deleted.

        Makes none where the newest segment began after `since`: a LIST and a HEAD. Otherwise a LIST, a GET, a query for
        a thousand memories, a GET for each that changed and a PUT. Where there are older ones, the eraser's own calls
        besides, whoever made the newest. Repeatable; several may try at once.

        Raises:
            InvalidRequest, Unavailable, OutcomeUnknown, Busy: not done; repeat it.
        """
        if ids.STORE.fullmatch(store_id) is None:
            raise InvalidRequest("store_id", "must be the id of a memory_store")
        for attempt in range(ATTEMPTS):
            keys = self._kept.keys(store_id)
            newest = PackKey.parse(keys[-1]) if keys else None
            if since is not None and newest is not None and self._began_after(newest, since):
                made: int | None = newest.number
            else:
                made = self._attempt(store_id, newest, from_scratch)
            if newest is not None and newest.number == made and len(keys) > 1:
                self._remove_others(store_id)  # who made it may have died before
            if made is not None or not self._is_live(store_id):
                return made
            self._region.back_off(attempt)
        raise Busy("others kept making this store's pack; try again")

    def _began_after(self, key: PackKey, since: int) -> bool:
        """Tell whether a segment began after an instant. One from a clock that was ahead says nothing of it."""
        manifest = self._kept.manifest(key)
        return manifest is not None and since + CLOCKS_US < manifest.began_at <= self._region.clock.now_us() + CLOCKS_US

    def _is_live(self, store_id: str) -> bool:
        return self._store(self._region.view([StoreRow.key(store_id)]), store_id) is not None

    def _store(self, view: View, store_id: str) -> StoreRow | None:
        """Return the store's record; None once it is deleted, or if no region knows it."""
        attributes = view.rows.get(StoreRow.key(store_id))
        store = self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)
        return None if store is None or store.state == StoreState.DELETED else store

    def _attempt(self, store_id: str, newest: PackKey | None, from_scratch: bool) -> int | None:
        """Make the number of the segment that counts now; None if another packer was first, or the store is deleted."""
        began_at = self._region.clock.now_us()
        view = self._region.view([StoreRow.key(store_id)], marked=["memories", "verdicts", "versions"])
        view.require_complete()
        store = self._store(view, store_id)
        if store is None:
            self._remove_others(store_id)
            return None
        opened = None if from_scratch or newest is None else self._open(newest)
        pack = self._packs.new() if opened is None else opened.pack
        try:
            changed = self._update(pack, self._heads.all(view, store))
            encoded, left = encode_passages(self._packs, pack, self._region.clock, ENCODED_WITHIN_US)
            changed = changed or encoded
            term = term_of(store)
            if opened is not None and not changed and _is_current(opened.manifest, term, began_at):
                return opened.key.number
            if pack.size_bytes > SIZE_MAX_BYTES and opened is not None:
                return self._attempt(store_id, newest, from_scratch=True)
            homes = homes_of(store)
            body, count = pack.to_bytes(), pack.extent()[0]
            until = view.complete_until_of(homes)
            known_until = None if until is None else min(until, began_at)
            manifest = Manifest(began_at, known_until, count, hashlib.sha256(body).hexdigest(), term)
            key = PackKey(store_id, 1) if newest is None else newest.following
            if not self._put(key, body, manifest):
                return None
        finally:
            pack.close()
        self._region.metrics.count("packs_made")
        if left and self._later is not None:
            self._later.send([json.dumps({"pack": store_id, "since": began_at})])
        self._remove_others(store_id)
        return key.number

    def _open(self, key: PackKey) -> OpenedPack | None:
        """Open the segment; None where it is gone or cannot be read, so that the next one is made from nothing."""
        try:
            opened = self._kept.open(key)
            if opened is not None:
                opened.verify()
            return opened
        except DamagedPack as damaged:
            _log.warning("a pack is made from nothing", extra={"key": str(key), "reason": str(damaged)})
            return None

    def _update(self, pack: Pack, heads: Mapping[str, MemoryRow]) -> bool:
        """Bring the segment up to date; return whether anything had to be done."""
        has = pack.heads()
        put, gone = differences(has, heads, {**has, **heads})
        bound = text_max_bytes([head.content_size_bytes or 0 for head in heads.values()])
        if gone:
            pack.change((), gone)
        put += [heads[id] for id in pack.cut(bound) if has[id] == heads[id].version_id]  # there was no room for them
        self._heads.update(pack, put, bound)
        return bool(put or gone)

    def _put(self, key: PackKey, body: bytes, manifest: Manifest) -> bool:
        """Put the segment. False where the number is taken: by another packer, or equivalently by this very put."""

        def is_mine() -> bool | None:
            head = find_head(self._region.objects, str(key))
            return None if head is None else self._kept.manifest_of(head) == manifest

        metadata, sha256 = manifest.to_metadata(), manifest.sha256
        put = put_if_absent(self._region, str(key), body, metadata, is_mine=is_mine, content_sha256=sha256)
        return put is Put.MINE

    def _remove_others(self, store_id: str) -> None:
        """Remove older segments; of a store that was deleted meanwhile, this one too. The eraser decides for itself."""
        ask_eraser(self._region, {"call": "erase_packs", "store_id": store_id})


def _is_current(manifest: Manifest, term: str, now_us: int) -> bool:
    """Tell whether readers can go on from a segment in which nothing would change, as cheaply as from the next one."""
    return manifest.term in (None, term) and not is_due(manifest.began_at, now_us, STALE_US)


def make_packer(region: Region, packs: Packs, later: Queue | None = None) -> Packer:
    """Put a region's packer together. No call."""
    verdicts = Verdicts(region)
    heads = Heads(region, packs, TextReader(region, verdicts), verdicts)
    return Packer(region, packs, KeptPacks(region, packs), heads, StoreLog(region), later)
