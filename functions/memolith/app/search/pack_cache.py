"""The packs that a reader's process holds, each brought up to now before it is used.

A pack out of the bucket is some minutes old. Behind it, the index tells which versions came since: they are the newest
rows of the table of versions, in the order of their ids. Their memories are compared with the pack, and what differs is
fetched. What is held goes on from there, so that a warm reader fetches only what is new.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from memolith.app.auth.authorizer import StoreAccess
from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.peer_messages import decode_error
from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region
from memolith.app.search.packs import Heads, KeptPacks, differences
from memolith.core import ids
from memolith.core.epochs import term_of
from memolith.core.errors import Unavailable
from memolith.core.limits import ACKNOWLEDGED_WITHIN_US
from memolith.core.objects.search_pack import Manifest, PackKey, text_max_bytes
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.times import is_due
from memolith.ports.index import Query
from memolith.ports.packs import DamagedPack, Pack, Packs

T = TypeVar("T")
Newest = Callable[[], dict[str, VersionRow]]
"""The newest versions by memory that came since some moment, which may still be on their way."""

HELD_MAX_BYTES = 300_000_000
"""What all packs that a process holds may take; a reader has 1,024 MB."""

LOOKED_FOR_EVERY_US = 60_000_000
"""How long a pack is used before a newer one is looked for."""

FETCHED_MAX = 200
"""How many memories a reader fetches by itself for one search; beyond that it has the pack made anew."""

ROWS_PER_QUERY = 1_000


@dataclass(slots=True)
class _Held:
    """A pack in use. `complete_until` is up to when it has everything; None where that is not known. `term` is that of
    its store by then, where that is known.

    `verify` is there until its bytes are known to be those that were put.
    """

    pack: Pack
    key: PackKey | None
    complete_until: int | None
    looked_at: int
    verify: Callable[[], None] | None = None
    term: str | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)


class PackCache:
    """Gives a store's pack, as of now."""

    def __init__(self, region: Region, packs: Packs, kept: KeptPacks, heads: Heads) -> None:
        self._region = region
        self._packs = packs
        self._kept = kept
        self._heads = heads
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    @contextmanager
    def pack(self, access: StoreAccess) -> Iterator[Pack]:
        """Yield the search segment of a store that the caller may read. Several may use it at once.

        It has every version that was in this region's index when `access` was given, and no text that was withheld
        then; a text may have been withheld since: compare before showing it. Cold a LIST and a GET; and in any case a
        query for what is new, and of that a read for a hundred memories, and a GET for each.

        Raises:
            Unavailable: the region does not answer, or the segment is not made in time.
        """
        access.view.require_complete()
        held, until = self._shelved(access.store.store_id), self._known_until(access)
        try:
            with held.lock:  # searches wait for each other while one fetches what is new, and not while they search
                newest = self._verified(access, held, self._renew(access, held, ahead=True))
                self._update(access, held, until, newest, may_ask=True)
                pack = held.pack
            yield pack
        except DamagedPack as damaged:
            self._drop(access.store.store_id)
            raise Unavailable("the search of this store is being made anew; try again") from damaged
        self._make_room(access.store.store_id)

    def ask(self, access: StoreAccess, question: Callable[[Pack], T]) -> T:
        """Return the answer to a question about the segment. Costs and raises as `pack`.

        A segment that has just arrived is asked while its hash is being computed. The answer is returned once that is
        known to be right; where it is not, the segment is made anew and asked again.
        """
        access.view.require_complete()
        held, until = self._shelved(access.store.store_id), self._known_until(access)
        with suppress(DamagedPack):
            with held.lock:
                self._update(access, held, until, self._renew(access, held, ahead=True), may_ask=True)
                pack, verify = held.pack, held.verify
            answer = question(pack)
            if verify is not None:
                verify()
                with held.lock:
                    held.verify = None if held.verify is verify else held.verify
            self._make_room(access.store.store_id)
            return answer
        with self.pack(access) as pack:
            return question(pack)

    @contextmanager
    def held(self, access: StoreAccess) -> Iterator[Pack]:
        """Yield the segment as it was last brought up to now. Cold a LIST and a GET, else no call.

        Raises:
            Unavailable: the bucket does not answer.
        """
        held = self._shelved(access.store.store_id)
        try:
            with held.lock:
                self._verified(access, held, self._renew(access, held))
                pack = held.pack
            yield pack
        except DamagedPack as damaged:
            self._drop(access.store.store_id)
            raise Unavailable("the pack of this store is being made anew; try again") from damaged
        self._make_room(access.store.store_id)

    def contents(self, access: StoreAccess, versions: Mapping[str, str]) -> Mapping[str, str]:
        """Return the texts of memories at these versions, as many as the segment has. Costs and raises as `held`."""
        with self.held(access) as pack:
            has = pack.heads(list(versions))
            return pack.contents([id for id, version_id in versions.items() if has.get(id) == version_id])

    def forget(self) -> None:
        """Release every segment."""
        with self._lock:
            self._held.clear()

    def _shelved(self, store_id: str) -> _Held:
        with self._lock:
            held = self._held.pop(store_id, None)
            if held is None:
                held = _Held(self._packs.new(), None, None, looked_at=-LOOKED_FOR_EVERY_US)
            self._held[store_id] = held
            return held

    def _drop(self, store_id: str) -> None:
        with self._lock:
            self._held.pop(store_id, None)

    def _make_room(self, kept: str) -> None:
        """Release those that were not used for longest; a call that uses one still goes on with it."""
        with self._lock:
            sizes = {store_id: held.pack.size_bytes for store_id, held in self._held.items()}
            for store_id in list(sizes):
                if sum(sizes.values()) <= HELD_MAX_BYTES:
                    return
                if store_id != kept:
                    del sizes[store_id], self._held[store_id]

    # ---- what the bucket has --------------------------------------------------------------------------------------

    def _renew(self, access: StoreAccess, held: _Held, *, ahead: bool = False) -> Newest | None:
        """Take a newer segment, if there is one; rebuild what cannot be opened, once.

        With `ahead`, what came since is asked for while the segment arrives, and returned.
        """
        now_us = self._region.clock.now_us()
        if not is_due(held.looked_at, now_us, LOOKED_FOR_EVERY_US):
            return None
        try:
            newest = self._take_newest(access, held, ahead=ahead)
        except DamagedPack:
            newest = self._rebuilt(access, held)
        held.looked_at = now_us
        return newest

    def _take_newest(self, access: StoreAccess, held: _Held, *, ahead: bool = False) -> Newest | None:
        since: list[Newest] = []

        def begun(manifest: Manifest) -> None:
            if ahead and manifest.complete_until is not None:
                ask = partial(self._newest_since, access, manifest.complete_until)
                since[:] = [self._region.parallel.begin(ask)]

        newest = self._kept.newest(access.store.store_id)
        if newest is None or newest == held.key:
            return None
        opened = self._kept.open(newest, begun)
        if opened is None:  # removed since it was listed, for a newer one
            newest = self._kept.newest(access.store.store_id)
            opened = None if newest is None else self._kept.open(newest, begun)
        if opened is None:
            return None
        held.pack, held.key, held.verify = opened.pack, opened.key, opened.verify
        held.complete_until, held.term = opened.manifest.complete_until, opened.manifest.term
        return since[0] if since else None

    def _verified(self, access: StoreAccess, held: _Held, newest: Newest | None) -> Newest | None:
        """Wait until the segment is known to be what was put; rebuild what is not, once. Returns what came since."""
        if held.verify is None:
            return newest
        try:
            held.verify()
        except DamagedPack:
            newest = self._rebuilt(access, held)
            if held.verify is not None:
                held.verify()
        held.verify = None
        return newest

    def _rebuilt(self, access: StoreAccess, held: _Held) -> Newest | None:
        self._ask_packer(access, from_scratch=True)
        return self._take_newest(access, held)

    # ---- what came since ------------------------------------------------------------------------------------------

    def _known_until(self, access: StoreAccess) -> int | None:
        """Return up to when the index has everything; not beyond now, as a region says whose home's clock was ahead."""
        until = access.complete_until
        return None if until is None else min(until, self._region.clock.now_us())

    def _update(
        self, access: StoreAccess, held: _Held, until: int | None, since: Newest | None = None, *, may_ask: bool
    ) -> None:
        """Bring the segment up to `until`. `since` is what came since, where that has been asked for already.

        Where the store's home has changed, all of it is compared: a head that the new home never had gives way to an
        older version, of which no new row tells.
        """
        term = term_of(access.store)
        if held.term not in (None, term):
            held.complete_until = None
        held.term = term
        if held.complete_until is None:
            has = held.pack.heads()
            heads = self._heads.all(access.view, access.store)
            changed = list({**has, **heads})
        else:
            newest = self._newest_since(access, held.complete_until) if since is None else since()
            if not newest:
                held.complete_until = until
                return
            has = held.pack.heads(list(newest))
            changed = [id for id, row in newest.items() if row.generation is None or has.get(id) != row.version_id]
            heads = self._heads.of(access.view, access.store, changed)
        put, gone = differences(has, heads, changed)
        if len(put) > FETCHED_MAX and may_ask:
            self._ask_packer(access)
            self._take_newest(access, held)
            self._verified(access, held, None)
            self._update(access, held, until, may_ask=False)
            return
        if gone:
            held.pack.change((), gone)
        if put:
            self._heads.update(held.pack, put, _text_bound(held.pack, put))
        held.complete_until = until

    def _newest_since(self, access: StoreAccess, complete_until: int) -> dict[str, VersionRow]:
        """Return by memory the newest of the versions that may have been acknowledged since.

        A version's id was made at most `ACKNOWLEDGED_WITHIN_US` before it was acknowledged, in any region; the table
        itself has them in that order, so that nothing here waits for a global index.
        """
        since_ms = max(complete_until - ACKNOWLEDGED_WITHIN_US, 0) // 1000
        after: str = f"memver_{ids.ulid(since_ms, bytes(10))}"
        found: dict[str, VersionRow] = {}
        query = Query("versions", access.store.store_id, after=after, limit=ROWS_PER_QUERY)
        for version in rows_of(access.view.index, query, VersionRow):
            if version.memory_id is None:
                continue
            known = found.get(version.memory_id)
            if known is None or (known.generation or 0) <= (version.generation or 0):
                found[version.memory_id] = version
        return found

    def _ask_packer(self, access: StoreAccess, *, from_scratch: bool = False) -> None:
        """Ask for the segment, and wait for it. Raises Unavailable."""
        payload = {"call": "pack", "store_id": access.store.store_id, "anew": from_scratch}
        with repeatable():
            answer = self._region.peers.call(self._region.name, "packer", payload)
        if "error" in answer:
            raise Unavailable("the search of this store cannot be made now; try again") from decode_error(
                answer["error"]
            )


def _text_bound(pack: Pack, put: Sequence[MemoryRow]) -> int:
    """Return how much of each text is searched once these are in: what the packer would take, or what was found before
    a change would be lost until the pack is made again.
    """
    sizes = {**pack.sizes(), **{row.memory_id: row.content_size_bytes or 0 for row in put}}
    return text_max_bytes(list(sizes.values()))
