"""A version that was divergent by one failover and counts by the next, while tables still list it as divergent."""

from __future__ import annotations

import pytest

from memolith.core import fold
from memolith.core.errors import NotFound
from memolith.core.rows.content import VersionRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.mark.parametrize("region", [HOME, AWAY])
@pytest.mark.parametrize("decision", ["restore", "dismiss"])
def test_a_version_that_is_its_memorys_newest_keeps_its_text_though_it_is_listed_as_divergent(
    decision: str, region: str
) -> None:
    scene = Scene()
    memory = scene.create("/a", "the only text")
    scene.deliver()
    key = VersionRow.key(scene.store, memory.version_id)
    late_key = VersionRow.late_key(scene.store, memory.version_id)
    for site in scene.cloud.sites.values():
        row = site.region.index.read([key])[key]
        late = fold.late_version(VersionRow.from_attributes(row)).to_attributes()
        site.region.index.commit([Change(key, row, None), Change(late_key, None, late)])
    uses = scene.at(region).divergent
    if decision == "restore":
        restored = uses.restore(scene.call(), scene.store, memory.version_id, full=True)
        assert restored is not None and restored.content == "the only text"
    else:
        with pytest.raises(NotFound):
            uses.dismiss(scene.call(), scene.store, memory.version_id)
    scene.deliver()
    assert scene.read(memory, at=region).content == "the only text"
