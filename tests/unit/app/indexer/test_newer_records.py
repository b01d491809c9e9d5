"""An indexer that meets objects of a newer release, as it does while regions are upgraded one after another."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from memolith.adapters.layered import Call
from memolith.app.kernel.results import StoreToAttach
from memolith.core.object_keys import ApiKeyKey, ProposalKey, RedactionKey, SessionKey, StoreKey, VerdictKey, parse_key
from memolith.core.proposed_edits import EditRequest
from memolith.ports.objects import StoredObject
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

T = TypeVar("T")


class NewerRelease:
    """Answers each read of an object with one more field in its record, and in its metadata."""

    def __init__(self) -> None:
        self.kinds: set[type] = set()

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        found: Any = act()
        if isinstance(found, StoredObject):
            self.kinds.add(type(parse_key(found.key)))
            metadata = {**found.metadata, "of-a-newer-release": "1"} if found.metadata else found.metadata
            found = replace(found, metadata=metadata, body=_newer(found.body))
        return found  # type: ignore[no-any-return]  # what was asked for


def _newer(body: bytes) -> bytes:
    if not body.startswith(b'{"'):
        return body
    return json.dumps({"of_a_newer_release": {"colour": "red"}, **json.loads(body)}).encode()


def test_records_with_one_more_field_are_folded_like_those_without(scene: Scene) -> None:
    made, judged = scene.create("/a", "first"), scene.create("/b", "to be withheld")
    scene.update(made, "second")
    scene.deliver()
    newer = NewerRelease()
    edits = [EditRequest("create", "/proposed", content="proposed")]
    scene.at(HOME).proposals.open(scene.call(), scene.store, why="w", edits=edits)
    scene.create_store("another")
    scene.at(HOME).sessions.create(
        scene.call(), [StoreToAttach(scene.store, "read_only", "")], title="t", metadata={}, token_lifetime_s=600
    )
    scene.judge(judged)
    scene.redact(made.version_id)
    with scene.intercepted_by(newer):
        scene.cloud.key("write")
        scene.deliver()
    assert {ProposalKey, StoreKey, ApiKeyKey, SessionKey, VerdictKey, RedactionKey} <= newer.kinds
    for table in INDEXED:
        assert scene.cloud.rows(AWAY, table) == scene.cloud.rows(HOME, table), table
    assert len(scene.stores(at=AWAY).items) == 2
