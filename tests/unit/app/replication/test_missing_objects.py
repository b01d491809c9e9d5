"""What it costs to ask whether a region holds what a checkpoint names."""

from __future__ import annotations

from memolith.adapters.layered import CallCounts
from memolith.app.epochs.parts import EpochParts
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.results import StoreToAttach
from memolith.app.replication.missing_objects import MissingObjects
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.identity import StoreRow
from tests.unit.app.scene import AWAY, HOME, Scene


def heads(scene: Scene, part: str) -> int:
    """For how many objects `AWAY` asks its bucket, of all that `HOME` has put of a kind."""
    scene.deliver()
    region = scene.cloud.sites[AWAY].region
    parts, counts = EpochParts.of(region), CallCounts()
    names = [Named(key) for key in scene.cloud.buckets.page(HOME, f"{HOME}/{part}/", None, 1_000).keys]
    assert names
    with scene.intercepted_by(counts):
        assert MissingObjects(region, make_indexer(region, parts), parts.snapshots).missing(region.view(), names) == []
    return counts.requests["s3.HeadObject"]


def test_a_session_that_began_with_a_context_costs_no_look_whatever_became_of_it() -> None:
    scene = Scene()
    sessions, stores = scene.at(HOME).sessions, [StoreToAttach(scene.store, "read_write", "")]
    for number in range(3):
        begun = sessions.create(scene.call(), stores, title="t", metadata={}, token_lifetime_s=60)
        if number == 1:
            sessions.update(scene.call(), begun.record.session_id, title="u", metadata={})
        elif number == 2:
            sessions.archive(scene.call(), begun.record.session_id)
    assert heads(scene, "session") == 0


def test_a_session_that_began_without_a_context_costs_a_look_once_it_was_changed() -> None:
    scene = Scene()
    view = scene.cloud.sites[HOME].region.view([StoreRow.key(scene.store)])
    store = StoreRow.from_attributes(view.rows[StoreRow.key(scene.store)])
    begun = [scene.at(HOME).sessions.create_unasked(view, store, title="t", created_by="d") for _ in range(3)]
    assert heads(scene, "session") == 0
    scene.at(HOME).sessions.archive(scene.call(), begun[0].session_id)
    assert heads(scene, "session") == 1
