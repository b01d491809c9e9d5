"""Retention takes what it may, when it may, and in the end all of it: heads, and the last few versions, never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memolith.app.kernel.results import Version
from tests.simulation.checkers import exceptions
from tests.simulation.checkers.linearizability import sha256
from tests.simulation.checkers.readers import generations
from tests.simulation.checkers.texts import found_anywhere, texts_of_versions
from tests.simulation.evidence import Evidence
from tests.simulation.history import Glimpse, Seen


def a_head_is_never_blanked(evidence: Evidence) -> Iterator[str]:
    """A memory that nobody tried to delete keeps its text in every region that ever showed it, then and at rest."""
    had: dict[tuple[str, str], int] = {}
    for glimpse in evidence.history.glimpses:
        if glimpse.shown == "text":
            had.setdefault((glimpse.region, glimpse.memory_id), glimpse.returned)
    for glimpse in evidence.history.glimpses:
        if glimpse.shown == "blank" and not _may_be_deleted(evidence, glimpse.memory_id):
            yield f"a memory without text: {glimpse}"
        known = had.get((glimpse.region, glimpse.memory_id), glimpse.invoked) < glimpse.invoked
        if glimpse.shown == "not found" and known and not _may_be_deleted(evidence, glimpse.memory_id):
            yield f"a memory that nobody deleted is gone: {glimpse}"
    for store_id, regions in evidence.final.items():
        for region, final in regions.items():
            for memory_id, versions in final.versions.items():
                gone = final.read[memory_id] == "NotFound"
                if gone and exceptions.has_no_head(evidence, store_id, memory_id):
                    continue
                if versions and versions[0].operation != "deleted" and not isinstance(final.read[memory_id], Seen):
                    yield f"{region} at rest: {memory_id} is live, and reads {final.read[memory_id]}"


def the_last_versions_are_kept(evidence: Evidence) -> Iterator[str]:
    """No version loses its text without an order before as many followed it as its store keeps."""
    if evidence.kept is None:
        return
    for store_id, regions in evidence.final.items():
        counted = generations(evidence, store_id)
        ordered = _ordered(evidence, store_id)
        for glimpse in evidence.history.glimpses:
            if glimpse.store_id == store_id and not _may_be_deleted(evidence, glimpse.memory_id):
                most = 1 + _tried(evidence, glimpse)
                for version_id, has_text in glimpse.versions:
                    generation = counted.get((glimpse.memory_id, version_id), 0)
                    if not has_text and version_id not in ordered and generation > most - evidence.kept:
                        yield f"{version_id}, number {generation} of at most {most}, has no text any more: {glimpse}"
        for region, final in regions.items():
            for memory_id, versions in final.versions.items():
                if versions and versions[0].operation != "deleted":
                    for version in versions[: evidence.kept]:
                        if version.content_sha256 is None and version.redacted_at is None:
                            yield f"{region} at rest: {version.id} of {memory_id} has no text any more"


def retired_text_is_nowhere(evidence: Evidence) -> Iterator[str]:
    """At rest the text of every version that need not be kept is gone, and its hash; in every region."""
    if evidence.kept is None:
        return
    asked = Counter(one.asked["content"] for one in evidence.history.operations if one.asked.get("content"))
    texts = {sha256(text): text for text, times in asked.items() if times == 1}
    gone: set[str] = set()
    kept: set[str] = set()
    for store_id, regions in evidence.final.items():
        known = texts_of_versions(evidence, store_id)
        for region, final in regions.items():
            for memory_id, versions in final.versions.items():
                due = _due(versions, evidence.kept)
                for version in versions:
                    (gone if version.id in due else kept).add(known.get((memory_id, version.id), ""))
                    if version.id in due and (version.path is not None or version.content_sha256 is not None):
                        yield f"{region} at rest still shows {version}"
    needles = [needle for sha in sorted((gone - kept) & texts.keys()) for needle in (texts[sha].encode(), sha.encode())]
    yield from found_anywhere(evidence, needles)


def _due(versions: tuple[Version, ...], kept: int) -> set[str]:
    """Of a memory's versions, newest first, those that nobody has to keep, all of them old by now."""
    if versions and versions[0].operation == "deleted":
        return {version.id for version in versions}
    return {version.id for version in versions[kept:]}


def _may_be_deleted(evidence: Evidence, memory_id: str) -> bool:
    return any(
        one.kind == "delete" and not one.refused and one.asked["memory_id"] == memory_id
        for one in evidence.history.operations
    )


def _tried(evidence: Evidence, glimpse: Glimpse) -> int:
    """How many changes of the memory had been begun by then, and may have been made."""
    return sum(
        one.kind == "update"
        and not one.refused
        and one.asked["memory_id"] == glimpse.memory_id
        and one.invoked < glimpse.returned
        for one in evidence.history.operations
    )


def _ordered(evidence: Evidence, store_id: str) -> set[str]:
    """The versions that somebody tried to redact: a refusal means that there is no order."""
    return {
        str(one.asked["version_id"])
        for one in evidence.history.operations
        if one.kind == "redact" and one.store_id == store_id and not one.refused
    }
