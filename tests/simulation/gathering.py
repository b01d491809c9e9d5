"""How what a run leaves behind is gathered at rest: through the API, and by looking into every bucket."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memolith.adapters.memory import MemoryDatabase
from memolith.app.api.service import Memolith
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.region import View
from memolith.app.kernel.results import DelegatedCredentials, Memory, RequestContext, Version, VersionFilter
from memolith.core.errors import MemolithError, PathConflict
from memolith.core.log_position import LogKey, LogRef
from memolith.core.object_keys import LOCAL_PREFIX, parse_key
from memolith.core.objects.entry import Entry
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.base import mark_key
from memolith.core.rows.content import LATE_PREFIX
from tests.simulation.evidence import Apart, Evidence, Final, Tables, Written
from tests.simulation.history import NEVER, Seen
from tests.simulation.workers import Worked

if TYPE_CHECKING:
    from memolith.ports.objects import StoredObject
    from tests.simulation.sites import Site
    from tests.simulation.world import World

TABLES = ("memories", "logs", "paths", "versions", "verdicts", "stores", "keys")
"""Those that are equal in every region at rest."""


def gather(world: World) -> Evidence:
    """Looks at everything once no task is left."""
    defects = [*world.defects, *world.network.defects, *world.damages.unexpected(world.network.malformed)]
    memories = _memory_ids(world)
    sites = world.sites.items()
    final: dict[str, dict[str, Final]] = {}
    for store_id in world.stores:
        final[store_id] = {}
        for region in world.options.regions:
            final[store_id][region] = _final(world, store_id, region, memories.get(store_id, set()), defects)
    evidence = Evidence(
        history=world.history,
        final=final,
        rows={name: _rows(site) for name, site in sites},
        rebuilt={name: _rebuilt(world, name, defects) for name, _ in sites},
        stored={name: _stored(site.database) for name, site in sites},
        objects={region: _objects(world, region) for region in world.options.regions},
        homes={store_id: world.home(store_id) for store_id in world.stores},
        wiped=dict(world.wiped),
        rebuilds=dict(world.rebuilds),
        defects=defects,
        named={region: _named(world, region) for region in world.options.regions},
    )
    evidence.kept = world.options.kept if world.options.day_s else None
    evidence.two_regions = world.options.two_regions
    evidence.lossy = world.options.days > 0
    evidence.elsewhere = frozenset(world.operators.elsewhere)
    evidence.written = _written(world)
    evidence.homes_ever = {store_id: _homes_ever(world, store_id) for store_id in world.stores}
    evidence.taken_over = dict(world.operators.taken_over)
    evidence.takeovers = {store_id: tuple(began) for store_id, began in world.operators.takeovers.items()}
    evidence.epochs = {
        store_id: tuple(parse_epoch(text) for text in world.operators.record(store_id).epochs)
        for store_id in world.stores
    }
    evidence.lost_terms = {
        store_id: world.operators.terms(store_id).difference(evidence.epochs[store_id]) for store_id in world.stores
    }
    evidence.apart = {store_id: _apart(world, store_id, defects) for store_id in world.movable}
    evidence.doomed = [] if world.doomed is None else world.doomed.needles
    evidence.worked = Worked() if world.workers is None else world.workers.gather()
    evidence.resolutions = tuple(_resolutions(world))
    evidence.put_behind = {
        place: frozenset(map(_as_text, objects)) for place, objects in world.damages.put_behind.items()
    }
    evidence.again = {name: _again(world, name, defects) for name, _ in sites}
    evidence.audits = tuple(world.tampering.audits)
    evidence.deceived = tuple(world.tampering.deceived)
    evidence.journals_lost = bool(world.options.journals_lost or world.options.emptied or world.wiped)
    evidence.blocked = _blocked(world)
    return evidence


def _named(world: World, region: str) -> set[str]:
    """Path hash and slot, as versions name their position, of every entry that a checkpoint of the region names."""
    named: set[str] = set()
    page = world.buckets.page(region, f"{region}/checkpoint/", None, 1000)
    while True:
        for key in page.keys:
            body = json.loads(world.buckets.versions(region, key)[-1].object.body)
            lines = body["names"] if isinstance(body, dict) else body
            names = [parse_key(line[0]) for line in lines]
            named |= {f"{name.path_hash}/{name.slot}" for name in names if isinstance(name, LogKey)}
        if page.next_after is None:
            return named
        page = world.buckets.page(region, f"{region}/checkpoint/", page.next_after, 1000)


def _written(world: World) -> dict[str, Written]:
    """Where each version that any region has stands; of one that was adopted, where it stood before.

    What a region has apart from the history tells only of versions that no region has in it.
    """
    written: dict[str, Written] = {}
    for region, site in world.sites.items():
        rows = rows_of(site.database, "versions", site.serving)
        for (_, sk), row in sorted(rows.items(), key=lambda one: one[0][1].startswith(LATE_PREFIX)):
            if "position" in row and "memory_id" in row:
                if sk.startswith(LATE_PREFIX) and row["version_id"] in written:
                    continue
                ref, adopted = LogRef.parse(row["position"]), False
                since = world.network.put_at.get(str(ref.key_in(row["store_id"])), NEVER)
                while (entry := _entry(world, region, ref.key_in(row["store_id"]))) is not None:
                    if entry.adopts is None:
                        break
                    ref, adopted = replace(ref, slot=entry.adopts), True
                put_at = world.network.put_at.get(str(ref.key_in(row["store_id"])), NEVER)
                home, at = ref.slot.epoch.home, row["position"]
                written[row["version_id"]] = Written(home, str(ref), adopted, at, put_at, since)
    return written


def _entry(world: World, region: str, key: LogKey) -> Entry | None:
    found = world.buckets.versions(region, str(key))
    return Entry.from_metadata(key, found[-1].object.metadata) if found else None


def _homes_ever(world: World, store_id: str) -> frozenset[str]:
    return frozenset(parse_epoch(text).home for text in world.operators.record(store_id).epochs)


def _apart(world: World, store_id: str, defects: list[str]) -> tuple[Apart, ...]:
    """What the store's home lists as divergent, each as it shows it; and what was erased, which it does not list."""
    site = world.sites[world.home(store_id)]
    divergent = site.open().memolith.divergent
    rows = rows_of(site.database, "versions", site.serving)
    late = {row["version_id"]: row for (pk, sk), row in rows.items() if pk == store_id and sk.startswith(LATE_PREFIX)}
    found: dict[str, Apart] = {}
    after: str | None = None
    try:
        while True:
            page = divergent.page(world.call(), store_id, limit=100, after=after)
            for one in page.items:
                text = divergent.retrieve(world.call(), store_id, one.version_id).content
                sha = None if text is None else hashlib.sha256(text.encode()).hexdigest()
                row = late[one.version_id]
                found[one.version_id] = Apart(
                    one.version_id,
                    one.memory_id,
                    row["generation"],
                    one.operation,
                    one.path,
                    sha,
                    row.get("parent_version_id"),
                )
            after = page.next_after
            if after is None:
                break
    except MemolithError as error:
        defects.append(f"divergent versions of {store_id}: {error!r}")
    for id, row in late.items():
        if row["blank"]:
            parent = row.get("parent_version_id")
            found[id] = Apart(id, row["memory_id"], row["generation"], row["operation"], None, None, parent)
    return tuple(found.values())


def _blocked(world: World) -> list[str]:
    """Tries to create a memory at every path, long after the last claim."""
    world.scheduler.now_us += 60_000_000
    found = []
    for store_id in world.stores:
        site = world.sites[world.home(store_id)]
        for path in world.options.paths:
            try:
                site.open().memolith.memories.create(world.call(), store_id, path=path, content="at rest", full=False)
            except PathConflict:
                continue
            except MemolithError as error:
                found.append(f"{path} of {store_id}: {error!r}")
    return found


def rows_of(database: MemoryDatabase, table: str, generation: int) -> dict[tuple[str, str], dict[str, Any]]:
    """Every row of one table."""
    mark = mark_key(table)
    rows = database.table(table, generation).order.rows.items()
    return {key: dict(row) for key, (_, _, row) in rows if key != (mark.pk, mark.sk)}


def _rows(site: Site) -> Tables:
    return tables_of(site.database, site.serving)


def tables_of(database: MemoryDatabase, generation: int) -> Tables:
    """All rows; of a store that was taken over, how a memory went is left out: a cut does not tell it.

    A log's row stays as it is, so that checkers can tell an abort entry from a departure.
    """
    tables = {table: rows_of(database, table, generation) for table in TABLES}
    lost = {row["store_id"] for row in tables["stores"].values() if _was_taken_over(row.get("epochs") or ())}
    tables["memories"] = {
        key: {"gone": True, "memory_id": row["memory_id"]} if key[0] in lost and row["gone"] else row
        for key, row in tables["memories"].items()
    }
    return tables


def _was_taken_over(epochs: Sequence[str]) -> bool:
    """Whether any of a store's terms but the first began without the home before it."""
    return any(epoch.attempt == 0 for epoch in map(parse_epoch, epochs[1:]))


def _again(world: World, region: str, defects: list[str]) -> Tables:
    """Every event once more, in an order of chance's choosing."""
    sandbox = world.sites[region].open()
    keys = sorted({key for key, _ in _objects(world, region)})
    for key in world.chance.sample(keys, len(keys)):
        try:
            sandbox.indexing.object_arrived(key)
        except (MemolithError, Malformed) as error:
            defects.append(f"{key} cannot be folded again in {region}: {error!r}")
    world.scheduler.run()
    return _rows(world.sites[region])


def _stored(database: MemoryDatabase) -> list[str]:
    """Every row as text. Claims that a dead creator left are not among them: they are swept by their age."""
    rows = database.everything()
    return [repr(one) for one in rows if one[0].table != "paths" or "memory_id" in one[1]]


def _rebuilt(world: World, region: str, defects: list[str]) -> Tables:
    """Folds every object of the bucket, in an order of chance's choosing, into tables of its own, and then judges."""
    database = MemoryDatabase()
    sandbox = world.sites[region].open(database)
    keys = [key for key, _ in _objects(world, region) if not key.startswith(LOCAL_PREFIX)]
    view = View(sandbox.region.index, {}, complete=False, building=None)
    for key in world.chance.sample(keys, len(keys)):
        try:
            sandbox.indexing.fold_object(view, key, journal=False)
        except Malformed as error:
            defects.append(f"a rebuild of {region} leaves out {error}")
    for store_id in world.movable:
        try:
            sandbox.indexing.repair(store_id, view=view)
        except MemolithError as error:
            defects.append(f"{store_id} cannot be judged in {region}: {error!r}")
    return tables_of(database, 1)


def _memory_ids(world: World) -> dict[str, set[str]]:
    """Every memory that any region has heard of."""
    ids: dict[str, set[str]] = {}
    for site in world.sites.values():
        for store_id, memory_id in rows_of(site.database, "memories", site.serving):
            ids.setdefault(store_id, set()).add(memory_id)
    for operation in world.history.operations:
        if isinstance(operation.answer, Seen):
            ids.setdefault(operation.store_id, set()).add(operation.answer.memory_id)
    return ids


def _final(world: World, store_id: str, region: str, memory_ids: set[str], defects: list[str]) -> Final:
    final = Final()
    memolith = world.sites[region].open().memolith
    try:
        items: list[Seen] = []
        after: str | None = None
        while True:
            page = memolith.memories.page(
                world.call(), store_id, path_prefix=None, depth=0, limit=100, after=after, full=False
            )
            items += [_seen(item) for item in page.items if isinstance(item, Memory)]
            after = page.next_after
            if after is None:
                break
        final.listed = tuple(items)
        final.versions = {
            id: memolith.versions.page(
                world.call(), store_id, VersionFilter(memory_id=id), limit=100, after=None, full=False
            ).items
            for id in sorted(memory_ids)
        }
    except MemolithError as error:
        defects.append(f"{region} at rest: {error!r}")
    read: dict[str, Seen | str] = {}
    for id in sorted(memory_ids):
        try:
            memory = memolith.memories.retrieve(world.call(), store_id, id, full=True)
            read[id] = "blank" if memory.content is None else _seen(memory)
        except MemolithError as error:
            read[id] = type(error).__name__
    final.read = read
    if world.options.weights.withhold:
        final.shown = frozenset(_shown(memolith, store_id, [one for some in final.versions.values() for one in some]))
    return final


def _shown(memolith: Memolith, store_id: str, versions: Sequence[Version]) -> Iterator[str]:
    reader = RequestContext(DelegatedCredentials("wrkspc_default", "user:reader", "read"))
    for version in versions:
        content = memolith.versions.retrieve(reader, store_id, version.id, full=True).content
        if content is not None:
            yield hashlib.sha256(content.encode()).hexdigest()


def _seen(memory: Memory) -> Seen:
    return Seen(memory.id, memory.version_id, memory.path, memory.content_sha256)


def _resolutions(world: World) -> Iterator[ResolutionRecord]:
    for region in world.options.regions:
        for key in world.buckets.page(region, f"{region}/resolution/", None, 1000).keys:
            for version in world.buckets.versions(region, key):
                yield ResolutionRecord.from_json(version.object.body)


def _objects(world: World, region: str) -> list[tuple[str, bytes]]:
    found = []
    for key in _keys(world, region):
        for version in world.buckets.versions(region, key):
            found.append((key, _as_text(version.object)))
    return found


def _as_text(found: StoredObject) -> bytes:
    return repr(sorted(found.metadata.items())).encode() + found.body


def _keys(world: World, region: str) -> Iterator[str]:
    after: str | None = None
    while True:
        page = world.buckets.page(region, "", after, 1000)
        yield from page.keys
        after = page.next_after
        if after is None:
            return
