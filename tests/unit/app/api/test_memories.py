"""Writing and reading memories at home: what each operation does, and what it refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from memolith.core.errors import InvalidRequest, NotFound, PermissionDenied, PreconditionFailed, Unauthenticated
from memolith.core.limits import CONTENT_MAX_BYTES
from tests.unit.app.scene import AWAY, HOME, Scene

NOBODY = "mem_" + "0" * 26
OTHER_SHA = "0" * 64


def sha(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def test_a_new_memory_is_read_back_byte_for_byte(scene: Scene) -> None:
    content = "\ufeffgrüße\r\n\x00 e\u0301 \U0001f642"
    made = scene.create("/notes/grüße.md", content, full=True)
    assert made.content == content
    assert (made.content_sha256, made.content_size_bytes) == (sha(content), len(content.encode()))
    assert made.created_at == made.updated_at == scene.clock.now_us()
    assert scene.read(made) == made
    key = scene.log_keys()[0]
    stored = scene.cloud.buckets.current(HOME, key)
    assert stored is not None and stored.body == content.encode(), "any S3 tool reads it"


def test_content_comes_only_with_the_full_view(scene: Scene) -> None:
    made = scene.create("/a", "text")
    assert made.content is None
    assert scene.read(made, full=False).content is None
    assert scene.update(made, "more").content is None
    assert scene.update(made, path="/b", full=True).content == "more"


@pytest.mark.parametrize("size", [0, CONTENT_MAX_BYTES])
def test_content_may_be_empty_and_as_long_as_the_limit(scene: Scene, size: int) -> None:
    made = scene.create("/a", "x" * size, full=True)
    assert made.content_size_bytes == size == len(scene.read(made).content or "")


@pytest.mark.parametrize("content", ["x" * (CONTENT_MAX_BYTES + 1), "é" * (CONTENT_MAX_BYTES // 2 + 1)])
def test_longer_content_is_refused_and_nothing_is_put(scene: Scene, content: str) -> None:
    made = scene.create("/a")
    with pytest.raises(InvalidRequest, match="content") as refusal:
        scene.create("/b", content)
    assert refusal.value.too_large
    with pytest.raises(InvalidRequest, match="content"):
        scene.update(made, content)
    assert len(scene.log_keys()) == 1


@pytest.mark.parametrize("path", ["", "a", "/", "/a/", "/a//b", "/../a", "/a\u200b", "/" + "a/" * 20 + "b"])
def test_a_path_against_the_grammar_is_refused(scene: Scene, path: str) -> None:
    made = scene.create("/ok")
    with pytest.raises(InvalidRequest, match="path"):
        scene.create(path)
    with pytest.raises(InvalidRequest, match="path"):
        scene.update(made, path=path)


# ---- updates --------------------------------------------------------------------------------------------------------


def test_an_update_appends_one_version_and_keeps_when_the_memory_was_made(scene: Scene) -> None:
    made = scene.create("/a", "first")
    scene.clock.advance(5)
    changed = scene.update(made, "second", full=True)
    assert (changed.id, changed.path, changed.content) == (made.id, "/a", "second")
    assert (changed.created_at, changed.updated_at) == (made.created_at, made.updated_at + 5_000_000)
    assert scene.history(made) == ["modified", "created"]


def test_a_memorys_versions_never_run_backwards_though_the_clock_does(scene: Scene) -> None:
    made = scene.create("/a", "first")
    for number in range(3):
        scene.clock.advance(-10)
        changed = scene.update(made, f"text {number}")
        assert changed.updated_at > made.updated_at
    instants = [version.created_at for version in scene.versions(memory_id=made.id).items]
    assert instants == sorted(instants, reverse=True)
    assert len(set(instants)) == 4


def test_the_precondition_is_the_content_that_is_there(scene: Scene) -> None:
    made = scene.create("/a", "first")
    changed = scene.update(made, "second", expected=sha("first"))
    with pytest.raises(PreconditionFailed):
        scene.update(made, "third", expected=sha("first"))
    assert scene.read(made) == scene.update(made, "second", expected=changed.content_sha256, full=True)


def test_content_that_went_and_came_back_satisfies_the_precondition_as_the_api_has_it(scene: Scene) -> None:
    """The API's precondition speaks of content, not of versions."""
    made = scene.create("/a", "A")
    scene.update(made, "B")
    scene.update(made, "A")
    assert scene.update(made, "C", expected=made.content_sha256, full=True).content == "C"


def test_the_precondition_speaks_of_the_present_content_when_the_path_changes_too(scene: Scene) -> None:
    made = scene.create("/a", "first")
    with pytest.raises(PreconditionFailed):
        scene.update(made, path="/b", expected=sha("second"))
    moved = scene.update(made, "second", path="/b", expected=sha("first"), full=True)
    assert (moved.path, moved.content) == ("/b", "second")
    assert scene.history(made) == ["modified", "created"], "a rename with content is one version"


@pytest.mark.parametrize(
    ("content", "path"), [("same", None), (None, "/a"), ("same", "/a")], ids=["content", "path", "both"]
)
@pytest.mark.parametrize("expected", [None, sha("same"), OTHER_SHA], ids=["no", "a matching", "a mismatching"])
def test_what_is_so_already_makes_no_version_whatever_precondition_comes_with_it(
    scene: Scene, content: str | None, path: str | None, expected: str | None
) -> None:
    made = scene.create("/a", "same", full=True)
    scene.clock.advance(5)
    assert scene.update(made, content, path=path, expected=expected, full=True) == made
    assert scene.history(made) == ["created"]
    assert len(scene.log_keys()) == 1


def test_half_a_change_is_a_change(scene: Scene) -> None:
    made = scene.create("/a", "same")
    assert scene.update(made, "same", path="/b").path == "/b"
    assert scene.update(made, "other", path="/b", full=True).content == "other"
    assert scene.history(made) == ["modified", "modified", "created"]


def test_an_update_of_nothing_is_refused(scene: Scene) -> None:
    with pytest.raises(InvalidRequest, match="at least one"):
        scene.update(scene.create("/a"))


def test_an_update_by_an_id_whose_path_another_memory_has_now_is_not_found(scene: Scene) -> None:
    old = scene.create("/a", "old")
    scene.delete(old)
    new = scene.create("/a", "new")
    with pytest.raises(NotFound):
        scene.update(old, "mine")
    with pytest.raises(NotFound):
        scene.delete(old)
    assert scene.read(new).content == "new"


def test_an_update_through_an_index_that_is_behind_reaches_the_memory_where_it_is(scene: Scene) -> None:
    made = scene.create("/a", "first")
    restore = scene.remember_index()
    scene.update(made, path="/b")
    scene.create("/a", "another's")
    restore()
    changed = scene.update(made, "second", full=True)
    assert (changed.path, changed.content) == ("/b", "second")
    assert [scene.read(item.id).content for item in scene.page().items] == ["another's", "second"]  # type: ignore[union-attr]  # a memory, and no folder


# ---- deletions ------------------------------------------------------------------------------------------------------


def test_a_deleted_memory_is_not_found_and_its_versions_stay(scene: Scene) -> None:
    made = scene.create("/a", "text")
    assert scene.delete(made) == made.id
    for attempt in (lambda: scene.read(made), lambda: scene.update(made, "x"), lambda: scene.delete(made)):
        with pytest.raises(NotFound):
            attempt()
    assert scene.paths() == []
    deleted, created = scene.versions(memory_id=made.id).items
    assert (deleted.operation, deleted.path, deleted.content_sha256) == ("deleted", "/a", None)
    assert scene.version(created.id).content == "text"
    assert scene.version(deleted.id).content is None


def test_a_deletion_may_have_a_precondition(scene: Scene) -> None:
    made = scene.create("/a", "text")
    with pytest.raises(PreconditionFailed):
        scene.delete(made, expected=OTHER_SHA)
    assert scene.paths() == ["/a"]
    scene.delete(made, expected=made.content_sha256)
    assert scene.paths() == []


# ---- who is there ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory_id", [NOBODY, "mem_x", "", "mem_" + "z" * 26, "memver_" + "0" * 26, "x" * 200])
def test_what_is_not_there_is_not_found(scene: Scene, memory_id: str) -> None:
    for attempt in (
        lambda: scene.read(memory_id),
        lambda: scene.update(memory_id, "x"),
        lambda: scene.update(memory_id, path="/b"),
        lambda: scene.delete(memory_id),
    ):
        with pytest.raises(NotFound):
            attempt()


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_another_workspaces_store_is_not_found_by_anything(scene: Scene, region: str) -> None:
    made = scene.create("/a")
    scene.deliver()
    foreign = scene.call(scene.cloud.key(workspace_id="wrkspc_other"))
    memolith, store = scene.at(region), scene.store
    attempts: list[Callable[[], object]] = [
        lambda: memolith.stores.retrieve(foreign, store),
        lambda: memolith.stores.archive(foreign, store),
        lambda: memolith.stores.delete(foreign, store),
        lambda: memolith.memories.create(foreign, store, path="/b", content="", full=False),
        lambda: memolith.memories.retrieve(foreign, store, made.id, full=True),
        lambda: memolith.memories.delete(foreign, store, made.id, expected_content_sha256=None),
        lambda: memolith.versions.retrieve(foreign, store, made.version_id, full=True),
        lambda: memolith.redactions.redact(foreign, store, made.version_id),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound) as refusal:
            attempt()
        assert refusal.value.kind == "memory_store"
    assert foreign.home is None, "nor is its home told"


def test_each_scope_does_what_it_says(scene: Scene) -> None:
    made = scene.create("/a")
    calls = {scope: scene.call(scene.cloud.key(scope)) for scope in ("read", "write", "admin")}
    memolith, store = scene.at(HOME), scene.store
    memolith.memories.retrieve(calls["read"], store, made.id, full=True)
    memolith.memories.create(calls["write"], store, path="/b", content="", full=False)
    with pytest.raises(PermissionDenied, match="scope is read"):
        memolith.memories.create(calls["read"], store, path="/c", content="", full=False)
    with pytest.raises(PermissionDenied, match="scope is read"):
        memolith.memories.delete(calls["read"], store, made.id, expected_content_sha256=None)
    for scope in ("read", "write"):
        with pytest.raises(PermissionDenied):
            memolith.stores.archive(calls[scope], store)
        with pytest.raises(PermissionDenied):
            memolith.redactions.redact(calls[scope], store, made.version_id)
        with pytest.raises(PermissionDenied):
            memolith.stores.create(calls[scope], name="n", description="", metadata={})
    memolith.stores.archive(calls["admin"], store)


def test_a_key_with_another_secret_is_unknown(scene: Scene) -> None:
    call = scene.call(scene.api_key[:-1] + ("0" if scene.api_key[-1] != "0" else "1"))
    with pytest.raises(Unauthenticated):
        scene.at(HOME).stores.retrieve(call, scene.store)
