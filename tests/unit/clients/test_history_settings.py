"""Settings of a store that no import and no restoration takes over: each is named, so that a person sets it anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from tests.api.harness import Backend, far_backend
from tests.unit.clients.conftest import backend_called
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_backup import elsewhere
from tests.unit.clients.test_history import moved, rewritten

APPROVAL = '{"agents": "propose", "paths": [{"prefix": "/policy/", "require": 2}]}'
PIPELINES = '{"may_edit": "not_people", "max_tokens_per_day": 20000}'
LEFT = {
    "approval": f"the store's own ({APPROVAL}) is not taken over: set it anew",
    "pipelines": f"the store's own ({PIPELINES}) is not taken over: set it anew",
}


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    with backend_called(getattr(request, "param", "memolith")) as built:
        yield built


def guarded(desk: Desk) -> None:
    """The desk's store has a memory, agents' writes wait, and pipelines may not do what they may elsewhere."""
    desk.put("/a.md", "one")
    body = {
        "approval": {"agents": "propose", "paths": [{"prefix": "/policy/", "require": 2}]},
        "pipelines": {"may_edit": "not_people", "max_tokens_per_day": 20_000},
    }
    assert desk.backend.raw("POST", f"/v1/memory_stores/{desk.store}", body=body).status == 200


def noted(report: dict[str, Any]) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in report["rows"] if row["result"] == "noted"}


@pytest.mark.parametrize("backend", ["memolith", "laptop"], indirect=True)
def test_an_import_names_whose_writes_waited_and_what_pipelines_were_not_allowed(desk: Desk) -> None:
    """Neither was in the tar, and no row said that agents write into protected folders from then on."""
    guarded(desk)
    store, report = moved(desk, desk.store)
    assert noted(report) == LEFT
    shown = desk.json("stores", "show", store)
    assert (shown["approval"]["agents"], shown["pipelines"]["may_edit"]) == ("write", "all")


def test_a_restoration_names_them_too(desk: Desk) -> None:
    guarded(desk)
    desk.ok("backup", "create", "saved")
    _, report = elsewhere(desk, "saved")
    found = noted(report)
    assert {name: found.get(name) for name in LEFT} == LEFT


def test_an_import_of_a_tar_that_does_not_say_how_the_store_was_set_notes_nothing(desk: Desk) -> None:
    """As an earlier release wrote it."""
    guarded(desk)
    desk.ok("export", desk.store, "history.tar", "--history")
    added = ("second_region", "approval", "pipelines")
    rewritten("earlier.tar", lambda manifest, lines: [manifest["store"].pop(name) for name in added])
    report = desk.json("import", "earlier.tar")
    assert (report["results"], noted(report)) == ({"created": 1}, {})


class TestWithAnotherRegion:
    @pytest.fixture
    def backend(self) -> Backend:
        return far_backend()

    def test_a_second_region_is_named(self, desk: Desk) -> None:
        """A restoration did so, and an import of one store did not."""
        desk.ok("stores", "update", desk.store, "--durability", "two_regions")
        desk.put("/a.md", "one")
        _, report = moved(desk, desk.store)
        assert noted(report) == {"durability": "the store's second region is not taken over: set it anew"}


def test_a_history_goes_on_into_the_store_that_is_named_by_its_id_or_its_name(desk: Desk) -> None:
    """A name went into the address as it was: it was tried three times, and the end was that it may have been done."""
    desk.put("/a.md", "one")
    desk.ok("export", desk.store, "history.tar", "--history")
    desk.ok("backup", "create", "saved")
    store = desk.ok("stores", "create", "target ö").strip()
    report = desk.json("import", "history.tar", "--store", "target ö")
    assert (report["store"], report["versions"]) == (store, {"imported": 1})
    assert desk.ok("cat", store, "/a.md") == "one"
    restored = desk.json("backup", "restore", "saved", "--store", desk.store, "--into", "target ö")
    assert restored["stores"] == [{"from": desk.store, "store": store}]
    for words in (
        ("import", "history.tar", "--store"),
        ("backup", "restore", "saved", "--store", desk.store, "--into"),
    ):
        assert "no store is called Nobody here" in desk.run(*words, "Nobody here")[2]
        code, _, err = desk.run(*words, "memstore_no such")
        assert code == Exit.NOT_FOUND and "'memstore_no such' --max-trust" in err
