"""What admins decided about divergent versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.simulation.checkers.linearizability import sha256
from tests.simulation.checkers.texts import found_anywhere
from tests.simulation.evidence import Evidence


def dismissed_text_is_nowhere(evidence: Evidence) -> Iterator[str]:
    """After a dismissal was acknowledged, no region lists the version; at rest its text stands nowhere.

    Unless somebody restored it, or it is in a history after all, since a home had adopted it meanwhile.
    """
    made = evidence.history.operations
    asked = Counter(one.asked["content"] for one in made if one.asked.get("content"))
    texts = {sha256(text): text for text, times in asked.items() if times == 1}
    for one in made:
        if one.kind != "dismiss" or not one.acknowledged:
            continue
        version_id, memory_id = one.asked["version_id"], one.asked["memory_id"]
        if any(
            apart.version_id == version_id and (apart.path, apart.sha256) != (None, None)
            for apart in evidence.apart[one.store_id]
        ):
            yield f"still stands apart: {one}"
        adopted = any(
            version.id == version_id and version.redacted_at is None
            for final in evidence.final[one.store_id].values()
            for version in final.versions.get(memory_id, ())
        )
        text = texts.get(one.asked["sha256"] or "")
        if text is not None and not adopted:
            yield from found_anywhere(evidence, [text.encode()])
