"""Showing that something is gone: a search for what a region still has of texts, paths and hashes.

It reads the bucket itself, every S3 version of it, and the tables; it does not believe what an erasure said of itself.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memolith.app.erasure.transcript_purge import parts_of, stores_of
from memolith.app.kernel.region import Region, View
from memolith.core import ids
from memolith.core.errors import InvalidRequest
from memolith.core.log_position import LogKey
from memolith.core.object_keys import ProposalKey, RunKey, StoreKey, TranscriptKey, parse_key
from memolith.core.objects.dream_step import PREFIX as STEPS_PREFIX
from memolith.core.objects.dream_step import named_dream, steps_prefix
from memolith.core.objects.entry import Entry
from memolith.core.objects.proposal_record import ProposalRecord
from memolith.core.objects.run_record import RunRecord
from memolith.core.objects.search_pack import PREFIX as PACKS_PREFIX
from memolith.core.objects.search_pack import PackKey
from memolith.core.objects.store_record import StoreRecord
from memolith.core.objects.transcript import TranscriptPart
from memolith.core.rows.base import Attributes
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import StoreRow
from memolith.ports import errors as port_errors
from memolith.ports.index import Index, Query
from memolith.ports.objects import ErasableObjects, ObjectVersion, StoredObject
from memolith.ports.packs import DamagedPack, Packs

KINDS = ("log", "store", "cut", "redaction", "verdict", "proposal", "resolution", "run")
"""Of a store's objects; each region that writes them has a prefix for each."""

TABLES = ("paths", "memories", "logs", "versions", "verdicts")
VERSIONS_PER_CALL = 200
ROWS_PER_CALL = 1_000
NEEDLE_MIN_BYTES = 2


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """What is looked for: texts (a content, or a part of it), paths, content hashes; with none of them, any text."""

    texts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("texts", "paths", "hashes"):
            if any(len(needle.encode()) < NEEDLE_MIN_BYTES for needle in getattr(self, name)):
                raise InvalidRequest(name, f"must have at least {NEEDLE_MIN_BYTES} bytes each")

    @property
    def any(self) -> bool:
        return bool(self.texts or self.paths or self.hashes)

    def within(self, data: bytes) -> str | None:
        """Return the kind of the first term in these bytes, as it is or as metadata and records encode it."""
        for kind, needles in (("text", self.texts), ("path", self.paths), ("hash", self.hashes)):
            for needle in needles:
                forms = [needle.encode(), _in_json(needle)]
                if kind == "path":
                    forms.append(base64.urlsafe_b64encode(needle.encode()).rstrip(b"="))
                if any(form in data for form in forms):
                    return kind
        return None


def _in_json(text: str) -> bytes:
    """Return a text as the record of a proposal, or a part of a transcript, has it."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


@dataclass(frozen=True, slots=True)
class Leftover:
    """One place where something was found: a key and its S3 version, or a table. `what` is a kind, never the text."""

    place: str
    version_id: str | None
    what: str


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """One step of a search: how many S3 versions and rows it read, what it found, and how it goes on."""

    looked: int
    found: list[Leftover] = field(default_factory=list)
    next: dict[str, Any] | None = None


class Verification:
    """Looks into one region, for an operator."""

    def __init__(self, region: Region, erasable: ErasableObjects, packs: Packs) -> None:
        self._region = region
        self._packs = packs
        self._erasable = erasable

    def search(self, store_id: str, needles: SearchTerms, at: Mapping[str, Any] | None) -> VerificationResult:
        """Search one step of everything that this region has of a store; `at` is the `next` of the step before.

        Reads every S3 version: a LIST for two hundred, and a GET each; of the workspace's transcripts those whose
        sessions have the store, for an index read for each session; of what dreams keep also that of other stores'
        dreams that may have its texts (`_may_have`). Then every row, a query for a thousand. Without needles, it
        reports anything of the store itself that is not blank, which is right for a store that was deleted.

        Raises:
            InvalidRequest, Unavailable.
        """
        if ids.STORE.fullmatch(store_id) is None:
            raise InvalidRequest("store_id", "must be the id of a memory_store")
        origins = sorted(self._region.origins)  # the same before and after a region is removed: `number` counts them
        places = [f"{region}/{kind}/{store_id}/" for region in origins for kind in KINDS]
        places += [PackKey.prefix(store_id), STEPS_PREFIX if needles.any else steps_prefix(store_id)]
        view = self._region.view([StoreRow.key(store_id)])
        places += [f"{region}/transcript/{_workspace_in(view, store_id)}/" for region in origins]
        number = 0 if at is None else int(at["number"])
        if number == len(places):
            return self._search_rows(view, store_id, needles, number, None if at is None else at.get("mark"))
        mark = None if at is None or at.get("mark") is None else (str(at["mark"][0]), str(at["mark"][1]))
        page = self._erasable.versions(places[number], mark, VERSIONS_PER_CALL)
        wanted = page.versions
        if places[number].split("/")[1] == "transcript":
            named = parts_of(self._region, view, store_id, dict.fromkeys(one.key for one in wanted))
            keys = {str(key) for parts in named for key in parts}
            wanted = tuple(one for one in wanted if one.key in keys)
        elif places[number] == STEPS_PREFIX:
            dreams = {named_dream(one.key) for one in wanted}
            kept = {one for one in dreams if self._may_have(view, store_id, *one)}
            wanted = tuple(one for one in wanted if named_dream(one.key) in kept)
        looks = [partial(self._look, version, needles) for version in wanted]
        found = [remain for remain in self._region.parallel.run(looks) if remain is not None]
        if page.next_after is not None:
            return VerificationResult(len(looks), found, {"number": number, "mark": list(page.next_after)})
        return VerificationResult(len(looks), found, {"number": number + 1, "mark": None})

    def _may_have(self, view: View, store_id: str, dreamed_id: str, run_id: str) -> bool:
        """Tell whether a dream may keep texts of a store: it is its own, what it writes, or a store of its sessions.

        An index read for a dream of another store, and one for each of its sessions.
        """
        if dreamed_id == store_id:
            return True
        attributes = self._region.read(view.index, [DreamRow.key(run_id)]).get(DreamRow.key(run_id))
        if attributes is None:
            return False
        record = DreamRow.from_attributes(attributes).parsed
        sessions = (stores_of(self._region, view, record.workspace_id, one) for one in record.session_ids)
        return record.output_store_id == store_id or any(store_id in stores for stores in sessions)

    def _look(self, version: ObjectVersion, needles: SearchTerms) -> Leftover | None:
        stored = self._stored(version)
        if stored is None:
            return None
        data = stored.body + b"\n" + "\n".join(stored.metadata.values()).encode()
        if version.key.startswith(PACKS_PREFIX):
            data += b"\n" + self._unpacked(stored)
        what = needles.within(data) if needles.any else _not_blank(version, stored)
        return None if what is None else Leftover(version.key, version.version_id, what)

    def _stored(self, version: ObjectVersion) -> StoredObject | None:
        """Return one S3 version of an object, or None where it is gone. One GET. Raises Unavailable."""
        try:
            return self._erasable.read_version(version.key, version.version_id)
        except port_errors.ObjectNotFound:
            return None

    def _unpacked(self, stored: StoredObject) -> bytes:
        """Decompress what a segment has. One that cannot be opened is read as it is."""
        try:
            pack = self._packs.open(stored.body)
            try:
                memory_ids = list(pack.heads())
                documents = pack.documents(memory_ids)
                texts = [*pack.contents(memory_ids).values()]
            finally:
                pack.close()
        except DamagedPack:
            return b""
        stems = [" ".join(passage) for one in documents for passage in one.passages]
        return "\n".join([*texts, *stems, *(f"{one.path} {one.content_sha256}" for one in documents)]).encode()

    def _search_rows(
        self, view: View, store_id: str, needles: SearchTerms, number: int, mark: Sequence[Any] | None
    ) -> VerificationResult:
        """Search one page of the store's rows, in every generation of tables that is written, one table at a time.

        `mark` is the generation, the table and the sort key to go on after. One whose generation is gone begins anew.
        """
        parts = [(index, table) for index in view.indexes for table in (*TABLES, "stores")]
        names = [[index.generation, table] for index, table in parts]
        begun = mark is not None and list(mark[:2]) in names
        position = names.index(list(mark[:2])) if begun and mark is not None else 0
        index, table = parts[position]
        after = mark[2] if begun and mark is not None else None
        rows, last = self._store_rows(index, store_id), None
        if table in TABLES:
            page = index.query(Query(table, store_id, after=after, limit=ROWS_PER_CALL))
            rows = [{"sk": one.key.sk, **one.attributes} for one in page]
            last = page[-1].sort_key if len(page) == ROWS_PER_CALL else None
        kinds = [what for row in rows if (what := _kind_in(row, needles)) is not None]
        found = [Leftover(f"table {table}", None, what) for what in kinds]
        following = [*names[position], last] if last is not None else [*names[position + 1 :], None][0]
        if following is None:
            return VerificationResult(len(rows), found)
        return VerificationResult(len(rows), found, {"number": number, "mark": [*following, None][:3]})

    def _store_rows(self, index: Index, store_id: str) -> list[Attributes]:
        """Return the rows of the store's own record in one generation. Two reads."""
        found: list[Attributes] = []
        for attributes in self._region.read(index, [StoreRow.key(store_id)]).values():
            row = StoreRow.from_attributes(attributes)
            listing = StoreRow.listing_key(row.workspace_id, row.created_at, store_id)
            found += [attributes, *self._region.read(index, [listing]).values()]
        return found


def _kind_in(attributes: Attributes, needles: SearchTerms) -> str | None:
    """Return the kind of term that a row has; without terms, whether it shows anything."""
    if needles.any:
        return needles.within("\n".join(_texts_of(attributes)).encode())
    return "not blank" if "path" in attributes or "content_sha256" in attributes or attributes.get("salt") else None


def _not_blank(version: ObjectVersion, stored: StoredObject) -> str | None:
    """Return what text is left of a deleted store. One blank may lie over another, this region's over the home's."""
    try:
        return _text_left(version, stored)
    except ValueError:
        return "unreadable"


def _text_left(version: ObjectVersion, stored: StoredObject) -> str | None:
    if version.key.startswith(PACKS_PREFIX):
        return "a pack"
    if version.key.startswith(STEPS_PREFIX):
        return "a dream's step"
    name = parse_key(version.key) if not _is_verdict(version.key) else None
    if isinstance(name, LogKey):
        blank = Entry.from_metadata(name, stored.metadata).blank
    elif isinstance(name, RunKey):
        blank = not RunRecord.from_json(stored.body).has_text
    elif isinstance(name, StoreKey):
        blank = not StoreRecord.from_json(stored.body).has_text
    elif isinstance(name, TranscriptKey):
        blank = not TranscriptPart.from_lines(stored.body).events
    elif isinstance(name, ProposalKey):
        blank = not ProposalRecord.from_json(stored.body).has_text
    else:
        return None
    return None if blank else "not blank"


def _workspace_in(view: View, store_id: str) -> str:
    """Return the workspace of a store, erased or not; ``-``, which is none, where the store is not known here."""
    attributes = view.rows.get(StoreRow.key(store_id))
    return "-" if attributes is None else StoreRow.from_attributes(attributes).workspace_id


def _is_verdict(key: str) -> bool:
    return key.split("/")[1:2] == ["verdict"]


def _texts_of(attributes: Mapping[str, Any]) -> Iterator[str]:
    for value in attributes.values():
        if isinstance(value, Mapping):
            yield from (part for pair in value.items() for part in pair)
        elif isinstance(value, list):
            yield from value
        else:
            yield str(value)
