"""An import says what it left open: `Unavailable` is the answer of one that did nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Crash, Fault, Strike
from memolith.adapters.memory import MemoryQueue
from memolith.app.kernel.results import Memory, VersionFilter
from memolith.core import ids
from memolith.core.commands import ImportedVersion
from memolith.core.errors import InvalidRequest, OutcomeUnknown, PathConflict, Unavailable
from memolith.core.limits import IMPORT_AHEAD_MAX_US
from memolith.ports import errors as port_errors
from memolith.scanner import Scanner
from tests.support.rebuilds import Operator
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
TOLD = [
    ImportedVersion(
        f"mem_{ids.ulid(1, bytes([number] * 10))}",
        f"memver_{ids.ulid(1, bytes([number] * 10))}",
        "created",
        "user:user_1",
        1_790_000_000_000_000,
        f"/told/{number}",
        "told",
    )
    for number in (1, 2)
]


REDACTED = replace(TOLD[0], path=None, content=None, redacted_at=1_790_000_000_000_007, redacted_by="user:user_1")
"""The first version, as its source has it since it was redacted there."""
FOLLOWING = replace(
    TOLD[0],
    version_id=f"memver_{ids.ulid(4, bytes(10))}",
    operation="modified",
    created_at=1_790_000_000_000_005,
    content="clean",
)
HEAD = "the current version of a live memory cannot be redacted; write a new one first"


def bring(scene: Scene, at: str, told: list[ImportedVersion]) -> list[tuple[str, str]]:
    """Status and reason of each."""
    results = scene.at(at).imports.import_versions(scene.call(), scene.store, told)
    return [(one.status, one.reason) for one in results]


def redacted(scene: Scene) -> list[int | None]:
    """When each version of the store was redacted."""
    page = scene.at(HOME).versions.page(scene.call(), scene.store, VersionFilter(), limit=10, after=None, full=False)
    return [version.redacted_at for version in page.items]


def test_an_import_that_cannot_be_indexed_where_it_landed_is_left_open_and_is_there(scene: Scene) -> None:
    def refuse(call: PortCall, act: Callable[[], T]) -> T:
        if call.origin == AWAY and call.name == "index.commit":
            raise port_errors.Unavailable("down")
        return act()

    with scene.intercepted_by(refuse), pytest.raises(OutcomeUnknown, match="imported"):
        bring(scene, AWAY, TOLD[:1])
    assert scene.paths(at=HOME) == ["/told/1"]
    bring(scene, AWAY, TOLD[:1])
    scene.deliver()
    assert scene.paths(at=AWAY) == ["/told/1"]


def test_an_import_of_which_some_was_done_is_left_open_and_the_rest_follows(scene: Scene) -> None:
    second = Strike(Fault.REFUSED, "objects.put_if_absent", occurrence=2)
    with scene.struck_by(second), pytest.raises(OutcomeUnknown, match="some of these versions were imported"):
        bring(scene, HOME, TOLD)
    scene.clock.advance(11)
    bring(scene, HOME, TOLD)
    assert scene.paths() == ["/told/1", "/told/2"]


def test_an_import_of_which_nothing_was_done_says_so(scene: Scene) -> None:
    with scene.struck_by(Strike(Fault.REFUSED, "objects.put_if_absent")), pytest.raises(Unavailable):
        bring(scene, HOME, TOLD)
    assert scene.paths() == []


@pytest.mark.parametrize("left", [False, True])
def test_a_text_over_an_erased_version_waits_for_its_path_and_then_has_it(scene: Scene, left: bool) -> None:
    """Another memory has come to the path between two imports, where the text was erased elsewhere."""
    memory_id = TOLD[0].memory_id
    erased = replace(
        TOLD[0],
        version_id=f"memver_{ids.ulid(2, bytes(10))}",
        operation="modified",
        content=None,
        redacted_at=1_790_000_000_000_001,
        redacted_by="user:user_1",
    )
    followed = replace(TOLD[0], version_id=f"memver_{ids.ulid(3, bytes(10))}", operation="modified", content="again")
    bring(scene, HOME, [TOLD[0], erased])
    ours = scene.create("/told/1", "ours")
    if left:
        scene.delete(ours)
    [result] = scene.at(HOME).imports.import_versions(scene.call(), scene.store, [followed])
    assert (result.status, result.path_taken) == (("imported", False) if left else ("refused", True))
    listed = {item.path: item.id for item in scene.page().items if isinstance(item, Memory)}
    assert listed == {"/told/1": memory_id if left else ours.id}
    with pytest.raises(PathConflict):
        scene.create("/told/1", "another")


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_an_import_does_not_redact_the_head_of_a_live_memory(scene: Scene, at: str) -> None:
    bring(scene, HOME, TOLD[:1])
    scene.deliver()
    assert bring(scene, at, [REDACTED]) == [("refused", f"memory_version_id: {HEAD}")]
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == ["/told/1"]
        assert scene.read(REDACTED.memory_id, at=region).content == "told"
    assert redacted(scene) == [None]


def test_an_import_does_not_redact_a_head_whose_next_version_it_refuses(scene: Scene) -> None:
    scene.create("/taken", "ours")
    bring(scene, HOME, TOLD[:1])
    told = [REDACTED, replace(FOLLOWING, path="/taken")]
    assert [status for status, _ in bring(scene, HOME, told)] == ["refused", "refused"]
    scene.deliver()
    assert scene.paths() == ["/taken", "/told/1"]
    assert scene.read(REDACTED.memory_id).content == "told"
    assert redacted(scene) == [None, None]


@pytest.mark.parametrize("at", [HOME, AWAY])
@pytest.mark.parametrize("apart", [False, True])
def test_an_import_redacts_a_head_once_the_next_version_of_its_memory_is_in(scene: Scene, at: str, apart: bool) -> None:
    bring(scene, HOME, TOLD[:1])
    scene.deliver()
    if apart:
        bring(scene, HOME, [FOLLOWING])
        scene.deliver()
    told = [REDACTED, TOLD[1], FOLLOWING]
    assert bring(scene, at, told) == [("known", ""), ("imported", ""), ("known" if apart else "imported", "")]
    assert scene.version(REDACTED.version_id, at=at).redacted_at == REDACTED.redacted_at
    assert scene.read(REDACTED.memory_id, at=at).content == "clean"
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == ["/told/1", "/told/2"]
        assert scene.version(REDACTED.version_id, at=region).redacted_at == REDACTED.redacted_at
        assert scene.bodies(region).count(b"told") == 1, "that of the other memory"
    assert bring(scene, HOME, told) == [("known", "")] * 3


def imported_by_a_second_attempt(scene: Scene) -> ImportedVersion:
    """Import a rename to where a writer died, so that it has another id than its source's; then what follows it."""
    renamed = replace(FOLLOWING, version_id=f"memver_{ids.ulid(3, bytes(10))}", path="/moved", content="secret")
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent")):
        scene.create("/moved")
    scene.clock.advance(11)
    told = [TOLD[0], renamed, replace(FOLLOWING, path="/moved")]
    assert bring(scene, HOME, told) == [("imported", "")] * 3
    assert renamed.version_id not in scene.history(TOLD[0].memory_id), "or this shows nothing"
    scene.deliver()
    return renamed


@pytest.mark.parametrize("at", [HOME, AWAY])
@pytest.mark.parametrize("path", [None, "/moved"])
def test_an_import_redacts_a_rename_that_an_earlier_one_has_brought_by_a_second_attempt(
    scene: Scene, at: str, path: str | None
) -> None:
    renamed = imported_by_a_second_attempt(scene)
    history = scene.history(renamed.memory_id)
    told = replace(renamed, path=path, content=None, redacted_at=REDACTED.redacted_at, redacted_by="user:user_1")
    assert bring(scene, at, [told]) == [("known", "")]
    scene.deliver()
    assert scene.history(renamed.memory_id) == history
    assert redacted(scene) == [None, REDACTED.redacted_at, None]
    assert scene.read(renamed.memory_id).content == "clean"
    for region in (HOME, AWAY):
        assert b"secret" not in scene.bodies(region)


def test_an_import_that_has_redacted_a_version_does_not_say_that_nothing_was_done(scene: Scene) -> None:
    bring(scene, HOME, [TOLD[0], FOLLOWING])
    second = Strike(Fault.REFUSED, "objects.put_if_absent", occurrence=2)
    with scene.struck_by(second), pytest.raises(OutcomeUnknown, match="were imported or redacted"):
        bring(scene, HOME, [REDACTED, TOLD[1]])
    assert redacted(scene) == [None, REDACTED.redacted_at]


def test_an_import_whose_order_cannot_be_put_has_done_nothing_and_can_be_repeated(scene: Scene) -> None:
    bring(scene, HOME, [TOLD[0], FOLLOWING])
    with scene.struck_by(Strike(Fault.REFUSED, "objects.put_if_absent")), pytest.raises(Unavailable):
        bring(scene, HOME, [REDACTED])
    assert redacted(scene) == [None, None]
    assert bring(scene, HOME, [REDACTED]) == [("known", "")]
    assert redacted(scene) == [None, REDACTED.redacted_at]


def test_a_version_was_redacted_a_day_ahead_at_most(scene: Scene) -> None:
    latest_us = scene.clock.now_us() + IMPORT_AHEAD_MAX_US
    later, at_last = (
        replace(told, path=None, content=None, redacted_at=at)
        for told, at in zip(TOLD, (latest_us + 1, latest_us), strict=True)
    )
    with pytest.raises(InvalidRequest, match=r"^versions\.1\.redacted_at: lies more than a day ahead$"):
        bring(scene, HOME, [at_last, later])
    assert redacted(scene) == []
    bring(scene, HOME, [at_last])
    assert redacted(scene) == [latest_us]


ERASED = replace(FOLLOWING, content=None)
"""As retention leaves a version: of the text only its path is known, if that."""
DELETED = replace(ERASED, version_id=f"memver_{ids.ulid(5, bytes(10))}", operation="deleted")
MOVED = replace(DELETED, path="/b")
"""A deletion at the path that its memory had been moved to by a version whose text is erased since."""


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ([TOLD[0], ERASED, DELETED], "/told/1"),
        ([TOLD[0], replace(ERASED, path=None), MOVED], None),
        ([replace(TOLD[0], path=None, content=None), MOVED], None),
        ([replace(TOLD[0], path=None, content=None), replace(DELETED, path=None)], None),
    ],
)
def test_a_deletion_after_erased_versions_is_known_everywhere_and_after_a_rebuild(
    scene: Scene, told: list[ImportedVersion], path: str | None
) -> None:
    live = scene.create("/b", "x")
    assert bring(scene, HOME, told) == [("imported", "")] * len(told)
    scene.deliver()
    Operator(scene.cloud, MemoryQueue()).run()
    for region in (AWAY, HOME):
        deleted = scene.versions(at=region, memory_id=DELETED.memory_id).items[0]
        assert (deleted.id, deleted.operation, deleted.path) == (DELETED.version_id, "deleted", path)
        assert scene.paths(at=region) == ["/b"], "where another memory lives"
    with pytest.raises(PathConflict):
        scene.create("/b/c", "below it")
    scene.delete(live)
    assert scene.create("/told/1", "free").path == "/told/1"


def test_a_deletion_that_is_imported_takes_no_other_memory_out_of_the_listing(scene: Scene) -> None:
    scene.create("/b", "x")
    bring(scene, HOME, [replace(TOLD[0], path=None, content=None), MOVED])
    assert scene.paths() == ["/b"]
    with pytest.raises(PathConflict):
        scene.create("/b/c", "below it")


@pytest.mark.parametrize("told", [DELETED, MOVED, replace(FOLLOWING, path="/c")])
def test_what_leaves_the_path_of_an_erased_version_waits_while_another_memory_is_there(
    scene: Scene, told: ImportedVersion
) -> None:
    bring(scene, HOME, [TOLD[0], replace(ERASED, version_id=f"memver_{ids.ulid(3, bytes(10))}")])
    ours = scene.create("/told/1", "ours")
    [result] = scene.at(HOME).imports.import_versions(scene.call(), scene.store, [told])
    assert (result.status, result.path_taken) == ("refused", True)
    assert scene.paths() == ["/told/1"]
    with pytest.raises(PathConflict):
        scene.create("/told/1", "another")
    scene.update(ours, path="/ours")
    assert bring(scene, HOME, [told]) == [("imported", "")]
    scene.deliver()
    Operator(scene.cloud, MemoryQueue()).run()
    listed = ["/c", "/ours"] if told.path == "/c" else ["/ours"]
    assert scene.paths() == scene.paths(at=AWAY) == listed


def test_a_deletion_brings_no_path_that_the_scanner_would_refuse(scanner_database: Path) -> None:
    scene = Scene(scanner=Scanner.load(scanner_database))
    path = "/notes/%2e%2e/x"
    with pytest.raises(InvalidRequest, match="scanner"):
        scene.create(path)
    bring(scene, HOME, [TOLD[0], replace(ERASED, path=None), replace(DELETED, path=path)])
    assert path not in [version.path for version in scene.versions().items]
