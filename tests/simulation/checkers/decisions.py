"""What admins decided about divergent versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.simulation.checkers.linearizability import sha256
from tests.simulation.checkers.texts import found_anywhere
from tests.simulation.evidence import Evidence


def dismissed_text_is_nowhere(evidence: Evidence) -> Iterator[str]:
    """After a dismissal was acknowledged, no region lists the version; at rest its text stands nowhere.

    Unless another version has it too: one that was restored from it, or one that a rename kept it from.
    """
    made = evidence.history.operations
    asked = Counter(one.asked["content"] for one in made if one.asked.get("content"))
    texts = {sha256(text): text for text, times in asked.items() if times == 1}
    for one in made:
        if one.kind != "dismiss" or not one.acknowledged:
            continue
        version_id = one.asked["version_id"]
        if any(
            apart.version_id == version_id and (apart.path, apart.sha256) != (None, None)
            for apart in evidence.apart[one.store_id]
        ):
            yield f"still stands apart: {one}"
        text = texts.get(one.asked["sha256"] or "")
        if text is not None and one.asked["sha256"] not in _standing(evidence, one.store_id):
            yield from found_anywhere(evidence, [text.encode()])


def _standing(evidence: Evidence, store_id: str) -> set[str | None]:
    """The hashes of all texts that any version of the store has: in a history, or apart."""
    histories = [versions for final in evidence.final[store_id].values() for versions in final.versions.values()]
    standing = {version.content_sha256 for versions in histories for version in versions}
    return standing | {apart.sha256 for apart in evidence.apart[store_id]}
