"""Packs as a region keeps them: finding the newest, and what a pack has to be told of a store's memories.

A pack is as true as the index was when it was made. Each reader of one compares: by version, memory for memory, with
the heads that the index has now. So no order of events can bring back what is older, and none can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from typing import TypeVar

from memolith.app.kernel.listing import keys_under, row_pages, rows_of
from memolith.app.kernel.port_calls import find, find_head
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Memory
from memolith.app.safety.text_access import TextReader
from memolith.app.safety.verdicts import Verdicts
from memolith.app.search.arrival import Arrival, Digest
from memolith.core.decide import sha256_hex
from memolith.core.errors import Damaged
from memolith.core.fold import is_live
from memolith.core.graph.note import is_note, parse
from memolith.core.integrity import Acknowledged
from memolith.core.objects.search_pack import Manifest, PackKey
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.search import analysis, frontmatter_fields
from memolith.core.verdicts import withholdings
from memolith.ports.index import Query
from memolith.ports.objects import StoredObject
from memolith.ports.packs import Document, Pack, Packs

ROWS_PER_QUERY = 1_000
ROWS_PER_READ = 100
AT_ONCE = 128
"""How many texts are fetched at a time: as much as may be in memory beside the pack."""

READ_ATTEMPTS = 3
"""How often an answer is read from a segment that changes meanwhile, before it is copied."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpenedPack:
    """A pack out of the bucket, with what it says of itself.

    `verify` waits until its bytes are known to be those that were put, and raises DamagedPack if they are not: nothing
    of the pack is told, or kept, before.
    """

    key: PackKey
    manifest: Manifest
    pack: Pack
    verify: Callable[[], None]


class KeptPacks:
    """The packs in this region's bucket."""

    def __init__(self, region: Region, packs: Packs) -> None:
        self._region = region
        self._packs = packs

    def keys(self, store_id: str) -> list[str]:
        """Return the keys of a store's segments, that of the one that counts last. One LIST. Raises Unavailable."""
        return list(keys_under(self._region.objects, PackKey.prefix(store_id)))

    def newest(self, store_id: str) -> PackKey | None:
        """Return the key of the segment that counts. Costs and raises as `keys`."""
        keys = self.keys(store_id)
        return PackKey.parse(keys[-1]) if keys else None

    def manifest(self, key: PackKey) -> Manifest | None:
        """Return a pack's metadata; None if the pack is gone or has none. One HEAD. Raises Unavailable."""
        head = find_head(self._region.objects, str(key))
        return None if head is None else self.manifest_of(head)

    def manifest_of(self, head: StoredObject) -> Manifest | None:
        """Return what an object says of itself; None if that is no manifest. No call."""
        try:
            return Manifest.from_metadata(head.metadata)
        except (ValueError, KeyError):
            return None

    def open(self, key: PackKey, begun: Callable[[Manifest], object] = lambda manifest: None) -> OpenedPack | None:
        """Return a pack; None if it is gone by now. One GET. Raises DamagedPack, Unavailable.

        Its hash is computed while it arrives, and may not be known yet: `OpenedPack.verify` waits for it. `begun` is
        told what it says of itself, before its body is there.
        """
        digest = Digest(self._region.parallel)
        with self._packs.incoming() as incoming:
            arrival = Arrival(incoming, digest, begun)
            try:
                stored = find(self._region.objects, str(key), into=arrival)
            finally:
                digest.end()
            return None if stored is None else OpenedPack(key, arrival.manifest, incoming.open(), arrival.verify)


class Heads:
    """The live memories of a store that a pack may show, and what it has to be told of them."""

    def __init__(self, region: Region, packs: Packs, texts: TextReader, verdicts: Verdicts) -> None:
        self._region = region
        self._packs = packs
        self._texts = texts
        self._verdicts = verdicts

    def all(self, view: View, store: StoreRow) -> dict[str, MemoryRow]:
        """Return every live memory whose text is not withheld. A query for a thousand memories, and the verdicts."""
        hidden = self._withheld(view, store)
        query = Query("memories", store.store_id, limit=ROWS_PER_QUERY)
        live = (row for row in rows_of(view.index, query, MemoryRow) if is_live(row))
        return {
            row.memory_id: row for row in live if self._verdicts.hmac(store, row.content_sha256 or "") not in hidden
        }

    def of(self, view: View, store: StoreRow, memory_ids: Sequence[str]) -> dict[str, MemoryRow]:
        """Return the same of these alone. A read for fifty of them."""
        found: dict[str, MemoryRow] = {}
        for start in range(0, len(memory_ids), ROWS_PER_READ):
            keys = [MemoryRow.key(store.store_id, id) for id in memory_ids[start : start + ROWS_PER_READ]]
            rows = self._region.read(view.index, keys)
            live = [row for row in map(MemoryRow.from_attributes, rows.values()) if is_live(row)]
            judged = self._verdicts.of(view, store, [row.content_sha256 or "" for row in live])
            found |= {row.memory_id: row for row in live if not withholdings(judged.get(row.content_sha256 or ""))}
        return found

    def changed_after(self, view: View, store: StoreRow, memory_ids: Sequence[str], instant: int) -> bool:
        """Tell whether one of these was last changed, or was deleted, after an instant. A read for fifty of them."""
        for start in range(0, len(memory_ids), ROWS_PER_READ):
            keys = [MemoryRow.key(store.store_id, id) for id in memory_ids[start : start + ROWS_PER_READ]]
            rows = map(MemoryRow.from_attributes, self._region.read(view.index, keys).values())
            if any(row.updated_at > instant for row in rows):
                return True
        return False

    def update(self, pack: Pack, put: Sequence[MemoryRow], text_max_bytes: int) -> None:
        """Put these memories into a segment, some at a time. Where a text was erased or is damaged, remove what the
        segment had of the memory: it is of an older version, which may have to be erased. A GET for each.

        Raises:
            Unavailable: a text is not here, and its home does not answer.
        """
        for start in range(0, len(put), AT_ONCE):
            some = put[start : start + AT_ONCE]
            texts = self._region.parallel.run([partial(self._text, row) for row in some])
            read = [(row, text) for row, text in zip(some, texts, strict=True) if text is not None]
            lost = [row.memory_id for row, text in zip(some, texts, strict=True) if text is None]
            pack.change([self.document(row, text, text_max_bytes) for row, text in read], lost)

    def _text(self, row: MemoryRow) -> str | None:
        """Read a text; None where it was erased, or is damaged: that is counted by then, and found by no search."""
        try:
            return self._texts.read(row.store_id, row.ref, Acknowledged(row.content_sha256 or "", row.version_id))
        except Damaged:
            return None

    def document(self, row: MemoryRow | Memory, text: str, text_max_bytes: int) -> Document:
        """Return what a segment takes of a memory at a version of it. No call."""
        whole = (row.content_size_bytes or 0) <= text_max_bytes
        searched = text if whole else text.encode()[:text_max_bytes].decode(errors="ignore")
        path = row.path or ""
        names = analysis.path_names(path)
        stems = analysis.passage(self._packs.stem(word.lower) for word in analysis.path_words(path))
        names |= frontmatter_fields.names_in(searched)
        found = analysis.analysed(searched, self._packs.stem, names)
        return Document(
            memory_id=row.id if isinstance(row, Memory) else row.memory_id,
            version_id=row.version_id,
            path=path,
            content_sha256=row.content_sha256 or "",
            content_size_bytes=row.content_size_bytes or 0,
            created_at=row.created_at,
            updated_at=row.updated_at,
            passages=(stems, *found.passages),
            starts=found.starts,
            length=analysis.length((stems, *found.passages)),
            names=found.names | names,
            properties=frontmatter_fields.properties_of(searched),
            content=text if whole else None,
            note=parse(path, searched) if is_note(path) else None,
        )

    def _withheld(self, view: View, store: StoreRow) -> set[str]:
        """Return the keys of all texts that are withheld now. The sightings behind them in the table are skipped."""
        found = chain.from_iterable(row_pages(view.index, Query("verdicts", store.store_id, limit=ROWS_PER_QUERY)))
        texts = takewhile(lambda one: "#" not in one.sort_key, found)
        judged = (VerdictRow.from_attributes(one.attributes) for one in texts)
        return {row.content_hmac for row in judged if withholdings(row)}


def in_one_state(pack: Pack, read: Callable[[Pack], T]) -> T:
    """Return what several reads of a segment give of one state of it, though other calls may bring it up to date
    meanwhile: read again where they did, at last from a copy.
    """
    for _ in range(READ_ATTEMPTS):
        before = pack.changes
        found = read(pack)
        if pack.changes == before:
            return found
    copy = pack.copy()
    try:
        return read(copy)
    finally:
        copy.close()


def whole_texts(texts: Mapping[str, str], rows: Iterable[MemoryRow]) -> dict[str, str]:
    """Return those of a pack's texts, by memory, whose hash is the one that was acknowledged; the others are read."""
    return acknowledged_texts(texts, {row.memory_id: row.content_sha256 for row in rows})


def acknowledged_texts(texts: Mapping[str, str], hashes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the same, where the hashes are at hand by memory."""
    return {id: text for id, text in texts.items() if sha256_hex(text) == hashes.get(id)}


def differences(
    has: Mapping[str, str], heads: Mapping[str, MemoryRow], among: Iterable[str]
) -> tuple[list[MemoryRow], list[str]]:
    """Return what a segment lacks or has at another version, and what to remove, of the memories `among`."""
    put = [head for id in among if (head := heads.get(id)) is not None and has.get(id) != head.version_id]
    return put, [id for id in among if id not in heads and id in has]
