"""What is asked of AWS for a store as a whole."""

from __future__ import annotations

from tests.unit.app.call_counts.rows import OPEN_STORE, Path
from tests.unit.app.scene import AWAY, HOME

STORES = [
    Path(
        "a creation",
        lambda s: s.scene.create_store(),
        ["read control+keys", "put store", "read stores", "transact journal+stores"],
        [],
    ),
    Path(
        "an archival",
        lambda s: s.scene.at(HOME).stores.archive(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store", "put store", "read stores", "transact journal+stores"],
        [],
    ),
    Path(
        "an archival again",
        lambda s: s.scene.at(HOME).stores.archive(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store"],
        [],
        lambda s: s.scene.at(HOME).stores.archive(s.scene.call(), s.scene.store),
    ),
    Path(
        "a deletion",
        lambda s: s.scene.at(HOME).stores.delete(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store", "put store", "read stores", "transact journal+stores"],
        [],
        lambda s: s.deletes_with_delay(),
    ),
    Path(
        "a restoration",
        lambda s: s.scene.at(HOME).stores.restore(s.scene.call(), s.scene.store),
        [OPEN_STORE, "read control", "get store", "put store", "read stores", "transact journal+stores"],
        [],
        lambda s: s.waiting(),
    ),
    Path(
        "its event, at home",
        lambda s: s.event_at(HOME),
        ["read control", "get store", "read stores"],
        [],
        lambda s: s.scene.create_store(),
    ),
    Path(
        "its event, in a replica",
        lambda s: s.event_at(AWAY),
        [],
        ["read control", "get store", "read stores", "transact stores"],
        lambda s: s.scene.create_store(),
    ),
]
