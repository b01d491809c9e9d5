"""The other promises, each a function from evidence to what is broken. None of them knows how Memolith works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from memolith.app.kernel.results import Version
from memolith.core.fold import occupant_of
from memolith.core.rows.content import LATE_PREFIX, LogRow
from tests.simulation.checkers import exceptions
from tests.simulation.checkers.facts import epoch_of, is_of_a_lost_term
from tests.simulation.checkers.linearizability import sha256
from tests.simulation.evidence import Evidence, Written
from tests.simulation.history import Listed, Operation, Seen


def nothing_acknowledged_is_lost(evidence: Evidence) -> Iterator[str]:
    """Every acknowledged version is in memory_versions of every region, once, as it was acknowledged.

    Or, where others took its store's home over, it stands apart: then everybody is shown it as it was. Never so where
    the store asks for two regions, and its second region took it over.
    """
    for operation in evidence.history.operations:
        if operation.kind not in ("create", "update") or not operation.acknowledged:
            continue
        seen: Seen = operation.answer
        for region, final in evidence.final[operation.store_id].items():
            found = [one for one in final.versions.get(seen.memory_id, ()) if one.id == seen.version_id]
            if not found and exceptions.stands_apart(evidence, operation):
                continue
            if len(found) != 1:
                yield f"{region} has {len(found)} of the version acknowledged by: {operation}"
            elif not _erased(evidence, found[0]) and (found[0].path, found[0].content_sha256) != (
                seen.path,
                seen.sha256,
            ):
                yield f"{region} has another version than was acknowledged by: {operation}"


def an_acknowledged_deletion_is_kept(evidence: Evidence) -> Iterator[str]:
    """What was deleted stays so; where others took the home over, or its deletion stands apart."""
    for operation in evidence.history.operations:
        if operation.kind != "delete" or not operation.acknowledged:
            continue
        memory_id = operation.asked["memory_id"]
        if exceptions.deletion_stands_apart(evidence, operation.store_id, memory_id):
            continue
        for region, final in evidence.final[operation.store_id].items():
            if final.read.get(memory_id) != "NotFound":
                yield f"{region} reads {final.read.get(memory_id)} after: {operation}"


def _erased(evidence: Evidence, version: Version) -> bool:
    """By an order, or by retention."""
    return version.redacted_at is not None or exceptions.blanked_by_retention(evidence, version)


def history_has_no_gaps(evidence: Evidence) -> Iterator[str]:
    """A memory's versions are counted 1, 2, 3, … ; the first was created, the last alone may be its deletion.

    What is missing stands apart: what a memory was before it came to a path may come later than what followed it there.
    """
    for region, tables in evidence.rows.items():
        generations: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
        for (store_id, version_id), row in tables["versions"].items():
            if "memory_id" in row and not version_id.startswith(LATE_PREFIX):
                memory = generations.setdefault((store_id, row["memory_id"]), [])
                memory.append((row["generation"], row["operation"], version_id))
        for (store_id, memory_id), rows in generations.items():
            parents = {tables["versions"][store_id, id].get("parent_version_id") for _, _, id in rows}
            known = {generation for generation, _, _ in rows}
            for one in sorted(evidence.apart.get(store_id, ()), key=lambda one: one.generation, reverse=True):
                if exceptions.precedes_what_arrived(one, memory_id, known, parents):
                    rows.append((one.generation, one.operation, one.version_id))
                    known.add(one.generation)
                    parents.add(one.parent)
            numbers = [generation for generation, _, _ in sorted(rows)]
            operations = [operation for _, operation, _ in sorted(rows)]
            if numbers != list(range(1, len(numbers) + 1)):
                yield f"{region}: {memory_id} has versions {numbers}"
            if operations[0] != "created" or "created" in operations[1:] or "deleted" in operations[:-1]:
                yield f"{region}: {memory_id} was {operations}"


def what_is_in_order_is_what_the_history_ends_with(evidence: Evidence) -> Iterator[str]:
    """At rest a memory is its newest version, in every region; a deleted one is not found.

    Nor, it may be, is one that left its path by a rename that stands apart, since another has the path.
    """
    for store_id, regions in evidence.final.items():
        for region, final in regions.items():
            for memory_id, versions in final.versions.items():
                shown = final.read.get(memory_id)
                newest = versions[0] if versions else None
                if newest is None or newest.operation == "deleted":
                    if shown != "NotFound":
                        yield f"{region}: {memory_id} reads {shown}, its history ends with {newest}"
                elif shown == "NotFound" and exceptions.has_no_head(evidence, store_id, memory_id):
                    continue
                elif not isinstance(shown, Seen) or (shown.version_id, shown.path) != (newest.id, newest.path):
                    yield f"{region}: {memory_id} reads {shown}, its history ends with {newest}"


def nothing_refused_is_visible(evidence: Evidence) -> Iterator[str]:
    """Text of a write that was refused stands in no version and in no answer."""
    wanted: Counter[str] = Counter()
    refused: dict[str, Operation] = {}
    for operation in evidence.history.operations:
        text = operation.asked.get("content")
        if text is None or operation.kind not in ("create", "update"):
            continue
        wanted[sha256(text)] += 1
        if operation.refused:
            refused[sha256(text)] = operation
    visible = {
        version.content_sha256
        for regions in evidence.final.values()
        for final in regions.values()
        for versions in final.versions.values()
        for version in versions
    }
    visible |= {seen.sha256 for operation in evidence.history.operations for seen in _shown(operation)}
    for sha, operation in refused.items():
        if wanted[sha] == 1 and sha in visible:
            yield f"visible, though refused: {operation}"


def _shown(operation: Operation) -> Iterator[Seen]:
    if isinstance(operation.answer, Seen):
        yield operation.answer
    if isinstance(operation.answer, Listed):
        yield from operation.answer.items


def replicas_converge(evidence: Evidence) -> Iterator[str]:
    """At rest every region's tables hold equal rows; only claims stand in one region alone."""
    first, *others = evidence.rows
    for other in others:
        for table, rows in evidence.rows[first].items():
            ours, theirs = _facts(evidence, table, rows), _facts(evidence, table, evidence.rows[other][table])
            for key in sorted(ours.keys() | theirs.keys()):
                if ours.get(key) != theirs.get(key):
                    yield f"{table} {key}: {first} has {ours.get(key)}, {other} has {theirs.get(key)}"


def a_rebuild_gives_the_same_rows(evidence: Evidence) -> Iterator[str]:
    """Every region's tables at rest are those that its own bucket makes, in whatever order it is read."""
    for region, tables in evidence.rows.items():
        for table, rows in tables.items():
            ours, made = _facts(evidence, table, rows), _facts(evidence, table, evidence.rebuilt[region][table])
            for key in sorted(ours.keys() | made.keys()):
                if ours.get(key) != made.get(key):
                    yield f"{region}: {table} {key} is {ours.get(key)}, rebuilt it is {made.get(key)}"


def events_that_come_again_change_nothing(evidence: Evidence) -> Iterator[str]:
    """An event is a hint, and may come twice, or years later."""
    for region, tables in evidence.rows.items():
        for table, rows in tables.items():
            for key, row in evidence.again[region][table].items():
                if _facts(evidence, table, {key: row}) != _facts(
                    evidence, table, {key: rows[key]} if key in rows else {}
                ):
                    yield f"{region}: {table} {key} was {rows.get(key)}, and is {row} now"


def _facts(
    evidence: Evidence, table: str, rows: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Mapping[tuple[str, str], object]:
    """What rows say: of claims nothing, and of the logs of a store that had several terms, who is at a path.

    Where events are lost for good, or an index was rebuilt, logs do not tell which slots were aborted.

    Where a row was put back to what the cut says, it does not tell any more how its path came to be free.
    """
    if table == "logs":
        logs = rows
        if exceptions.lacks_an_abort_entry(evidence):
            logs = {key: told for key, row in rows.items() if len(told := _without_aborts(row)) > 2}
        return {
            key: occupant_of(LogRow.from_attributes(row)) if evidence.had_terms(key[0]) else row
            for key, row in logs.items()
        }
    if table == "memories":
        return {key: row for key, row in rows.items() if not exceptions.is_gone_by_a_cut(evidence, key[0], row)}
    if table != "paths":
        return rows
    kept = {
        key: {name: value for name, value in row.items() if not name.startswith("claim_")} for key, row in rows.items()
    }
    return {key: row for key, row in kept.items() if "memory_id" in row}


def _without_aborts(log: Mapping[str, Any]) -> Mapping[str, Any]:
    """A log's row without its abort entry; of one that tells of nothing else, its key's two attributes are left."""
    return {name: value for name, value in log.items() if name != "voided"}


def one_memory_one_path(evidence: Evidence) -> Iterator[str]:
    """No page shows an id twice; at rest each live memory is listed once, and none is another's ancestor.

    A path and its ancestor can both stay where a home was taken over, and its copies had shown that one of them came,
    but not that the other had left before.
    """
    for operation in evidence.history.operations:
        if isinstance(operation.answer, Listed):
            counts = Counter(item.memory_id for item in operation.answer.items)
            if any(count > 1 for count in counts.values()):
                yield f"one id twice: {operation}"
    for store_id, regions in evidence.final.items():
        for region, final in regions.items():
            live = {id: seen.path for id, seen in final.read.items() if isinstance(seen, Seen)}
            listed = sorted((item.memory_id, item.path) for item in final.listed)
            if listed != sorted(live.items()):
                yield f"{region} lists {listed}, and reads {sorted(live.items())}"
            paths = sorted(live.values())
            for path in paths:
                family = [id for id, other in live.items() if other == path or other.startswith(f"{path}/")]
                beside = exceptions.stays_beside_its_ancestor(evidence, store_id, family)
                if paths.count(path) > 1 or (len(family) > 1 and not beside):
                    yield f"{region} has memories at {paths}"


def every_path_can_be_written(evidence: Evidence) -> Iterator[str]:
    """At rest no path is blocked for ever: each takes a memory, or names the one that is in the way."""
    yield from evidence.blocked


def what_is_acknowledged_is_in_a_checkpoint(evidence: Evidence) -> Iterator[str]:
    """The homes' checkpoints name every acknowledged version, and every version of its memory before it.

    A version that was adopted is named where it stands: the lost home need not name what came to it too late. Where it
    stands in a term that does not count, the late original is enough: the copy is a straggler, and adds nothing to it.
    """
    for operation in evidence.history.operations:
        if operation.kind not in ("create", "update") or not operation.acknowledged:
            continue
        seen: Seen = operation.answer
        history = evidence.final[operation.store_id][evidence.homes[operation.store_id]].versions
        ids = [version.id for version in history.get(seen.memory_id, ())]
        for id in ids[ids.index(seen.version_id) :] if seen.version_id in ids else [seen.version_id]:
            written = evidence.written.get(id)
            places = () if written is None else _places_to_name(evidence, operation.store_id, written)
            if places and not any(place in evidence.named[epoch_of(place).home] for place in places):
                yield f"no checkpoint of {epoch_of(places[0]).home} names {id}: {operation}"


def _places_to_name(evidence: Evidence, store_id: str, written: Written) -> tuple[str, ...]:
    """Return the positions of a version of which a checkpoint has to name one, the one where it stands first."""
    lost = is_of_a_lost_term(evidence, store_id, written.stands)
    return (written.stands, written.position) if lost else (written.stands,)


def no_error_but_the_apis(evidence: Evidence) -> Iterator[str]:
    """Every call ends with an answer or an error of the API, every event is understood."""
    yield from evidence.defects
