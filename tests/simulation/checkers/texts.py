"""Erased text is nowhere: every version of every object, every row, in every region."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from memolith.app.kernel.results import DivergentVersion, Version
from tests.simulation.checkers import exceptions
from tests.simulation.checkers.linearizability import sha256
from tests.simulation.evidence import Evidence
from tests.simulation.history import Listed, Seen


def texts_of_versions(evidence: Evidence, store_id: str) -> dict[tuple[str, str], str]:
    """The content hash of each (memory_id, version_id) that any answer ever showed."""
    found: dict[tuple[str, str], str] = {}
    for operation in evidence.history.operations:
        if operation.store_id == store_id:
            shown = operation.answer.items if isinstance(operation.answer, Listed) else operation.answer
            for one in shown if isinstance(shown, list | tuple) else (shown,):
                found.update(_known(one))
    for final in evidence.final[store_id].values():
        for versions in final.versions.values():
            for version in versions:
                found.update(_known(version))
    found.update(
        {(one.memory_id, one.version_id): one.sha256 for one in evidence.apart[store_id] if one.sha256 is not None}
    )
    return found


def _known(one: object) -> dict[tuple[str, str], str]:
    if isinstance(one, Seen):
        return {(one.memory_id, one.version_id): one.sha256}
    if isinstance(one, Version) and one.content_sha256 is not None:
        return {(one.memory_id, one.id): one.content_sha256}
    if isinstance(one, DivergentVersion) and one.content_sha256 is not None:
        return {(one.memory_id, one.version_id): one.content_sha256}
    return {}


def _paths_of_versions(evidence: Evidence, store_id: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for operation in evidence.history.operations:
        answer = operation.answer
        if operation.store_id != store_id:
            continue
        for one in answer.items if isinstance(answer, Listed) else answer if isinstance(answer, tuple) else (answer,):
            if isinstance(one, Seen):
                found[one.version_id] = one.path
            elif isinstance(one, Version) and one.path is not None:
                found[one.id] = one.path
    return found


def redacted_text_is_nowhere(evidence: Evidence) -> Iterator[str]:
    """A text all of whose versions are redacted, its hash, and a path all of whose versions are, stand nowhere."""
    for operation in evidence.history.operations:
        if operation.kind == "redact" and operation.acknowledged:
            for region, final in evidence.final[operation.store_id].items():
                versions = final.versions.get(operation.asked["memory_id"], ())
                if exceptions.redacted_apart(evidence, operation, versions):
                    continue
                if not any(one.id == operation.asked["version_id"] and one.redacted_at for one in versions):
                    yield f"{region} does not show what was redacted by: {operation}"
    excused = partial(exceptions.was_put_behind, evidence)
    yield from found_anywhere(evidence, [*_texts(evidence), *_paths(evidence)], excused)


def a_deleted_store_is_nowhere(evidence: Evidence) -> Iterator[str]:
    """Neither a text, nor a path, nor the name of a store that was deleted stands in any region."""
    yield from found_anywhere(evidence, evidence.doomed)


def text_of_no_version_is_nowhere(evidence: Evidence) -> Iterator[str]:
    """What was refused, or never came to be, is not kept: no object holds its text, as no version does."""
    versions: set[str] = set()
    for store_id in evidence.final:
        versions.update(texts_of_versions(evidence, store_id).values())
    asked = [one.asked["content"] for one in evidence.history.operations if one.asked.get("content") is not None]
    yield from found_anywhere(evidence, [text.encode() for text in sorted(set(asked)) if sha256(text) not in versions])


def found_anywhere(
    evidence: Evidence, needles: list[bytes], excused: Callable[[str, str, bytes], bool] = lambda *_: False
) -> Iterator[str]:
    """Where any of them stands, in any region: objects, all their S3 versions, and rows.

    `excused` is asked of an S3 version of an object: its region, its key, and its metadata and body as a text.
    """
    for region, objects in evidence.objects.items():
        for key, content in objects:
            for needle in needles:
                if needle in content and not excused(region, key, content):
                    yield f"{region}: {needle!r} is in the object {key}"
    for region, rows in evidence.stored.items():
        for row in rows:
            for needle in needles:
                if needle.decode() in row:
                    yield f"{region}: {needle!r} is in the row {row}"


def _texts(evidence: Evidence) -> Iterator[bytes]:
    asked = Counter(one.asked["content"] for one in evidence.history.operations if one.asked.get("content"))
    texts = {sha256(text): text for text, times in asked.items() if times == 1}
    for store_id, regions in evidence.final.items():
        known = texts_of_versions(evidence, store_id)
        redacted: set[str] = set()
        kept: set[str] = {one.sha256 for one in evidence.apart[store_id] if one.sha256 is not None}
        for final in regions.values():
            for versions in final.versions.values():
                for one in versions:
                    (redacted if one.redacted_at else kept).add(known.get((one.memory_id, one.id), ""))
        for sha in sorted((redacted - kept) & texts.keys()):
            yield texts[sha].encode()
            yield sha.encode()


def _paths(evidence: Evidence) -> Iterator[bytes]:
    for store_id, regions in evidence.final.items():
        known = _paths_of_versions(evidence, store_id)
        redacted: set[str] = set()
        kept: set[str] = {one.path for one in evidence.apart[store_id] if one.path is not None}
        for final in regions.values():
            for versions in final.versions.values():
                for one in versions:
                    (redacted if one.redacted_at else kept).add(known.get(one.id, one.path or ""))
        for path in sorted(redacted - kept - {""}):
            if path.startswith("/only-"):
                yield path.encode()
                yield base64.urlsafe_b64encode(path.encode()).rstrip(b"=")
