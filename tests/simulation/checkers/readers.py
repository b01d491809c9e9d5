"""What readers may rely on, in any region: time does not run backwards there, and nothing is shown that is not so.

A memory's versions are counted by their place in its history, as it stands at the end. What lets an answer pass all the
same stands in `exceptions`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from memolith.app.kernel.results import Page, Version
from tests.simulation.checkers import exceptions
from tests.simulation.checkers.facts import epoch_of, history_of
from tests.simulation.checkers.linearizability import sha256
from tests.simulation.evidence import Evidence
from tests.simulation.history import NEVER, Listed, Operation, Seen

GONE = 1 << 30
"""The generation of a memory that is not there any more."""

Generations = Mapping[tuple[str, str], int]
"""By memory and version: which in the order of its history."""


def no_read_shows_a_text_that_was_never_written(evidence: Evidence) -> Iterator[str]:
    """Every text that an answer shows is one that some call wrote; its hash is taken of the text that was shown."""
    asked = (one.asked.get("content") for one in evidence.history.operations)
    written = {sha256(content) for content in asked if content is not None}
    for operation in evidence.history.operations:
        answer = operation.answer
        shown = answer.items if isinstance(answer, Listed) else answer if isinstance(answer, tuple) else (answer,)
        for one in shown:
            if isinstance(one, Seen) and one.sha256 and one.sha256 not in written:
                yield f"nobody ever wrote what was shown of {one}: {operation}"


def generations(evidence: Evidence, store_id: str) -> Generations:
    """As the home counts a memory's versions, from 1; what stands apart has its place beside them, or before."""
    home = evidence.homes[store_id]
    versions = evidence.rows[home]["versions"]
    counted = {
        (memory_id, version.id): versions[store_id, version.id]["generation"]
        for memory_id, shown in evidence.final[store_id][home].versions.items()
        for version in shown
    }
    return counted | {(one.memory_id, one.version_id): one.generation for one in evidence.apart[store_id]}


def floors(evidence: Evidence, store_id: str) -> Generations:
    """By memory and version: the generation that a region which has shown it never shows less than afterwards.

    Its own, unless it came late: then that of the last version before it that no fail-over took from it.
    """
    counted = generations(evidence, store_id)
    return {
        (memory_id, version_id): _last_kept(evidence, store_id, counted, memory_id, version_id)
        if exceptions.came_late(evidence, store_id, version_id)
        else generation
        for (memory_id, version_id), generation in counted.items()
    }


def _last_kept(evidence: Evidence, store_id: str, counted: Generations, memory_id: str, version_id: str) -> int:
    """The last version before a late one, of its own term or an earlier one, that did not come late; or 0.

    Of a term that was never accepted nothing is known of what it built on.
    """
    written = evidence.written.get(version_id)
    terms = evidence.epochs[store_id]
    term = None if written is None else epoch_of(written.position)
    if term not in terms:
        return 0
    before = [0]
    for (other_id, other), generation in counted.items():
        known = evidence.written.get(other)
        if other_id != memory_id or known is None or exceptions.came_late(evidence, store_id, other):
            continue
        other_term = epoch_of(known.position)
        earlier = other_term in terms and terms.index(other_term) <= terms.index(term)
        if earlier and generation < counted[memory_id, version_id]:
            before.append(generation)
    return max(before)


def _by_region(evidence: Evidence) -> Iterator[tuple[str, str, list[Operation]]]:
    """Each store in each region, with the operations that tell what the region has, by their invocation."""
    for store_id, regions in evidence.final.items():
        for region in regions:
            made = [one for one in evidence.history.operations if one.store_id == store_id and one.region == region]
            yield (
                store_id,
                region,
                [
                    one
                    for one in made
                    if not exceptions.answered_by_another_region(one)
                    and not exceptions.tables_had_vanished(evidence, region, one)
                ],
            )


def _demands(operation: Operation) -> bool:
    return operation.asked.get("home") is not None or operation.asked.get("least") is not None


def _shown(operation: Operation) -> Iterator[Seen]:
    if isinstance(operation.answer, Seen):
        yield operation.answer
    elif isinstance(operation.answer, Listed):
        yield from operation.answer.items


def _not_found(operation: Operation) -> str | None:
    """The memory that the answer says is not there: deleted by it, or not found by it."""
    if operation.kind == "delete" and operation.acknowledged:
        return str(operation.asked["memory_id"])
    if operation.kind == "read" and operation.refused and operation.answer.name == "NotFound":
        return str(operation.asked["memory_id"])
    return None


def a_region_never_goes_back(evidence: Evidence) -> Iterator[str]:
    """What began after another answer of the region had ended shows no older generation of any memory.

    Of a memory of which a planned move left a version behind that nobody was told of, that one may have been shown.
    """
    for store_id, region, made in _by_region(evidence):
        counted = generations(evidence, store_id)
        least = floors(evidence, store_id)
        known: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for one in made:
            for seen in _shown(one):
                known[seen.memory_id].append((one.returned or 0, least.get((seen.memory_id, seen.version_id), 0)))
            ended = one.asked["memory_id"] if one.kind == "delete" and one.acknowledged else None
            if ended is not None and not exceptions.deletion_came_late(evidence, store_id, ended):
                known[ended].append((one.returned or 0, GONE))
        for one in made:
            shown = [(seen.memory_id, counted.get((seen.memory_id, seen.version_id), 0)) for seen in _shown(one)]
            gone = _not_found(one)
            if gone is not None and not _may_be_gone(evidence, store_id, gone):
                shown.append((gone, 0))
            for memory_id, generation in shown:
                before = max((known_then for at, known_then in known[memory_id] if at < one.invoked), default=0)
                in_passing = exceptions.was_shown_in_passing(evidence, store_id, memory_id)
                if generation < before and not in_passing and not exceptions.tables_were_rebuilt(evidence, region, one):
                    yield f"{region} had shown generation {before} before: {one}"


def a_demanded_read_is_no_older(evidence: Evidence) -> Iterator[str]:
    """A read that demands a version shows it, or a later one; the home's answer nothing that the region had surpassed.

    A version that was acknowledged is never said to be unknown.
    """
    acknowledged = {
        one.answer.version_id: one.returned or 0
        for one in evidence.history.operations
        if one.kind in ("create", "update") and one.acknowledged
    }
    for store_id, region, made in _by_region(evidence):
        counted = generations(evidence, store_id)
        floor = floors(evidence, store_id)
        for one in evidence.history.operations:
            if (one.store_id, one.region) != (store_id, region) or not _demands(one):
                continue
            memory_id, least = one.asked["memory_id"], one.asked["least"]
            unknown = one.refused and one.answer.name == "InvalidRequest"
            acknowledged_before = acknowledged.get(least, one.invoked) < one.invoked
            if unknown and acknowledged_before and not exceptions.unknown_since_a_take_over(evidence, one):
                yield f"said to be unknown, though acknowledged: {one}"
            vanished = least is not None and exceptions.tables_had_vanished(evidence, region, one)
            known = 0 if vanished else _generations_known(made, one, floor)
            wanted = max(known, floor.get((memory_id, least or ""), 0))
            if _not_found(one) is not None and wanted and not _may_be_gone(evidence, store_id, memory_id):
                yield f"not found, though version {wanted} was known: {one}"
            for seen in _shown(one):
                if counted.get((memory_id, seen.version_id), 0) < wanted:
                    yield f"older than version {wanted}: {one}"


def _generations_known(made: list[Operation], read: Operation, counted: Generations) -> int:
    """The highest generation of the memory that the region had shown before."""
    return max(
        (
            counted.get((seen.memory_id, seen.version_id), 0)
            for earlier in made
            if earlier.returned is not None and earlier.returned < read.invoked
            for seen in _shown(earlier)
            if seen.memory_id == read.asked["memory_id"]
        ),
        default=0,
    )


def _may_be_gone(evidence: Evidence, store_id: str, memory_id: str) -> bool:
    versions = history_of(evidence, store_id, memory_id)
    if versions and versions[0].operation == "deleted":
        return True
    if any(exceptions.was_dismissed_and_counts(evidence, version) for version in versions):
        return True
    reasons = (
        exceptions.deletion_came_late,
        exceptions.left_its_path_apart,
        exceptions.was_redacted_before_what_came_late,
    )
    return any(excepted(evidence, store_id, memory_id) for excepted in reasons)


def a_replica_is_never_ahead(evidence: Evidence) -> Iterator[str]:
    """Whatever any region shows is in the home's history, as it is there, and its writer had begun."""
    begun = {
        sha256(one.asked["content"]): one.invoked
        for one in reversed(evidence.history.operations)
        if one.kind in ("create", "update") and one.asked["content"] is not None
    }
    for store_id in evidence.final:
        counted = generations(evidence, store_id)
        held = _held(evidence, store_id)
        for one in evidence.history.operations:
            for seen in _shown(one) if one.store_id == store_id else ():
                if held.get(seen.version_id, (seen.path, seen.sha256)) != (seen.path, seen.sha256):
                    yield f"{seen} is not what its version is, {held[seen.version_id]}: {one}"
                if (seen.memory_id, seen.version_id) not in counted:
                    yield f"a version that the home does not know: {one}"
                if begun.get(seen.sha256, 0) > (one.returned or 0):
                    yield f"a text that nobody had written yet: {one}"


def _held(evidence: Evidence, store_id: str) -> dict[str, tuple[str, str]]:
    """Path and hash of every version that is not erased."""
    histories = evidence.final[store_id][evidence.homes[store_id]].versions.values()
    return {
        version.id: (version.path, version.content_sha256)
        for history in histories
        for version in history
        if version.path is not None and version.content_sha256 is not None
    }


def who_is_refused_can_read_why(evidence: Evidence) -> Iterator[str]:
    """After a refusal the same region shows at least the head that it was decided against."""
    for store_id, region, made in _by_region(evidence):
        for refused in made:
            if not refused.refused or refused.kind not in ("update", "delete"):
                continue
            memory_id = refused.asked["memory_id"]
            in_passing = exceptions.was_shown_in_passing(evidence, store_id, memory_id)
            if in_passing or exceptions.has_late_versions(evidence, store_id, memory_id):
                continue
            for later in made:
                if later.kind != "read" or later.invoked < (refused.returned or 0):
                    continue
                if later.asked["memory_id"] == memory_id and isinstance(later.answer, Seen):
                    yield from _still_stale(region, refused, later, made)


def _still_stale(region: str, refused: Operation, later: Operation, made: list[Operation]) -> Iterator[str]:
    seen: Seen = later.answer
    shown_before = any(
        earlier.memory_id == seen.memory_id
        for one in made
        if (one.returned or NEVER) < refused.invoked
        for earlier in _shown(one)
    )
    if refused.answer.name == "NotFound" and shown_before:
        yield f"{region} shows what was not found before: {later}"
    if refused.answer.name == "PreconditionFailed" and refused.asked["expected"] == seen.sha256:
        before = [
            one
            for one in made
            if (one.returned or NEVER) < refused.invoked and any(seen == earlier for earlier in _shown(one))
        ]
        if before:
            yield f"{region} shows what it was refused for: {later} after {refused}"


def own_writes_are_in_the_history(evidence: Evidence) -> Iterator[str]:
    """What was acknowledged in a region is in every listing of the memory's versions made there afterwards."""
    for store_id, region, made in _by_region(evidence):
        for listing in made:
            if listing.kind != "versions" or not isinstance(listing.answer, tuple):
                continue
            listed = {version.id for version in listing.answer if isinstance(version, Version)}
            for write in made:
                if write.kind not in ("create", "update") or not write.acknowledged:
                    continue
                seen: Seen = write.answer
                if seen.memory_id != listing.asked["memory_id"] or (write.returned or 0) > listing.invoked:
                    continue
                if seen.version_id not in listed and not exceptions.came_late(evidence, store_id, seen.version_id):
                    yield f"{region} does not list what it acknowledged by {write} in {listing}"


def a_history_of_the_store_is_whole(evidence: Evidence) -> Iterator[str]:
    """All its pages: newest first, no version twice, and with what was acknowledged in the region before."""
    for store_id, region, made in _by_region(evidence):
        for pages in _whole(made, "history"):
            versions = [version for page in pages for version in page.answer.items]
            order = [(version.created_at, version.id) for version in versions]
            if order != sorted(set(order), reverse=True):
                yield f"{region} lists versions out of order, or twice: {[str(page) for page in pages]}"
            for write in made:
                if write.kind in ("create", "update") and write.acknowledged:
                    missing = write.answer.version_id not in {version.id for version in versions}
                    late = exceptions.came_late(evidence, store_id, write.answer.version_id)
                    late = late or exceptions.was_imported_with_an_old_time(evidence, write, region)
                    if missing and not late and (write.returned or 0) < pages[0].invoked:
                        yield f"{region} lacks {write} in {[str(page) for page in pages]}"


def what_was_redacted_stays_so(evidence: Evidence) -> Iterator[str]:
    """After its acknowledgement no answer of that region shows the version's text."""
    for _, region, made in _by_region(evidence):
        for redaction in made:
            if redaction.kind != "redact" or not redaction.acknowledged:
                continue
            for later in made:
                if later.kind == "versions" and isinstance(later.answer, tuple):
                    for version in later.answer:
                        shown = version.path is not None or version.content_sha256 is not None
                        if version.id == redaction.answer and later.invoked > (redaction.returned or 0) and shown:
                            yield f"{region} shows what {redaction} had erased: {later}"


def time_does_not_run_backwards(evidence: Evidence) -> Iterator[str]:
    """A memory's versions are each younger than the one before, whatever the clocks did."""
    for regions in evidence.final.values():
        for region, final in regions.items():
            for memory_id, versions in final.versions.items():
                times = [version.created_at for version in versions]
                if times != sorted(set(times), reverse=True):
                    yield f"{region}: the versions of {memory_id} were made at {times}"


def a_listing_shows_each_path_once(evidence: Evidence) -> Iterator[str]:
    """A memory that stands at one path all the while is on exactly one page of a whole listing, at that path."""
    for store_id, region, made in _by_region(evidence):
        counted = generations(evidence, store_id)
        for pages in _whole(made, "page"):
            begin, end = pages[0].invoked, pages[-1].returned or 0
            items = [item for page in pages for item in page.answer.items]
            for seen in _standing(evidence, store_id, made, counted, begin, end):
                times = sum((item.memory_id, item.path) == (seen.memory_id, seen.path) for item in items)
                elsewhere = [item for item in items if item.memory_id == seen.memory_id and item.path != seen.path]
                if times != 1 or elsewhere:
                    yield f"{region} lists {seen} {times} times, and elsewhere {elsewhere}: {pages}"


def _whole(made: list[Operation], kind: str) -> Iterator[list[Operation]]:
    """Listings, or histories, of which every page was answered, from the first to the last, by this region."""
    groups: dict[tuple[str, int], list[Operation]] = defaultdict(list)
    for one in made:
        if one.kind == kind:
            groups[one.client, one.asked["listing"]].append(one)
    for pages in groups.values():
        answered = all(isinstance(page.answer, Listed | Page) for page in pages)
        if answered and pages[0].asked.get("after") is None and pages[-1].answer.next_after is None:
            yield pages


def _standing(
    evidence: Evidence, store_id: str, made: list[Operation], counted: Generations, begin: int, end: int
) -> Iterator[Seen]:
    """Memories that the region had shown before, and that nothing moved or ended until the listing was over."""
    newest: dict[str, tuple[int, Seen]] = {}
    for one in made:
        for seen in _shown(one):
            generation = counted.get((seen.memory_id, seen.version_id), 0)
            if (one.returned or end) < begin and generation > newest.get(seen.memory_id, (0, seen))[0]:
                newest[seen.memory_id] = (generation, seen)
    for memory_id, (generation, seen) in newest.items():
        if exceptions.has_late_versions(evidence, store_id, memory_id):
            continue
        if not any(
            _may_move(one, memory_id, seen.path, generation, counted)
            for one in evidence.history.operations
            if one.store_id == store_id and one.invoked < end
        ):
            yield seen


def _may_move(one: Operation, memory_id: str, path: str, generation: int, counted: Generations) -> bool:
    if one.refused or one.asked.get("memory_id") != memory_id:
        return False
    if one.kind == "delete":
        return True
    if one.kind != "update" or one.asked["path"] in (None, path):
        return False
    if isinstance(one.answer, Seen):
        return counted.get((memory_id, one.answer.version_id), GONE) > generation
    return True
