"""Stores that are deleted while ``memolith backup create`` runs, and what one that stops says of its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from memolith.clients.transfer import backup
from memolith.core.errors import InvalidRequest
from tests.api.harness import Backend, memolith_backend
from tests.unit.clients.desk import Desk


@pytest.fixture
def backend() -> Backend:
    return memolith_backend()


def deletes(desk: Desk, store: str, ending: str, page: bool = False) -> None:
    """Another client deletes a store right before it is asked for what its address ends with, or for a further page."""
    answer = desk.backend._http

    def noted(event: Any) -> Any:
        asked = event["rawPath"] == f"/v1/memory_stores/{store}{ending}"
        if asked and page == ("page=" in event["rawQueryString"]):
            desk.patch.setattr(desk.backend, "_http", answer)
            assert desk.backend.raw("DELETE", f"/v1/memory_stores/{store}").status == 200
        return answer(event)

    desk.patch.setattr(desk.backend, "_http", noted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "page"), [("", False), ("/memory_versions", False), ("/memory_versions", True), ("/proposals", False)]
)
def test_a_store_that_is_deleted_meanwhile_is_left_out_and_the_others_are_backed_up(
    desk: Desk, ending: str, page: bool
) -> None:
    """The command ended with 4, without a manifest, so that the stores that were saved were no backup either."""
    kept = [desk.store, desk.ok("stores", "create", "Newest").strip()]
    gone = desk.ok("stores", "create", "Gone").strip()
    kept.append(desk.ok("stores", "create", "First").strip())
    for number in range(25):
        desk.ok("put", gone, f"/{number}", typed=b"text")
    deletes(desk, gone, ending, page)
    code, out, err = desk.run("backup", "create", "saved", "--records", "--json")
    assert (code, err) == (Exit.IN_PART, "")
    [row] = [row for row in json.loads(out)["rows"] if row["result"] == "left out"]
    assert (row["path"], row["reason"]) == (gone, "it was deleted meanwhile")
    assert {one["store"] for one in desk.json("backup", "verify", "saved")} == set(kept)


def test_a_named_store_that_is_deleted_meanwhile_ends_the_backup(desk: Desk) -> None:
    second = desk.ok("stores", "create", "Second").strip()
    deletes(desk, second, "/memory_versions")
    code, _, err = desk.run("backup", "create", "saved", "--store", desk.store, "--store", second)
    assert code == Exit.NOT_FOUND and "has a part of a backup now" in err


def test_a_record_that_is_gone_from_a_store_that_is_there_ends_the_backup(desk: Desk) -> None:
    session = desk.json("sessions", "begin", desk.store)["id"]
    answer = desk.backend._http

    def gone(event: Any) -> Any:
        return answer(event | {"rawPath": event["rawPath"].replace(session, f"{session[:-4]}0000")})

    desk.patch.setattr(desk.backend, "_http", gone)
    assert "0000" not in session[-4:]
    desk.fails(Exit.NOT_FOUND, "backup", "create", "saved", "--records")


def test_a_backup_that_stops_says_that_its_place_has_a_part_of_it_once_something_was_put_there(desk: Desk) -> None:
    desk.put("/a.md", "one")
    writer = desk.backend.issue_key("main", "write")
    told = desk.fails(Exit.KEY, "backup", "create", "none", "--records", "--api-key", writer)
    assert "a part of a backup" not in told and not list(Path("none").iterdir())
    put = backup._put

    def full(place: Any, draft: Path) -> tuple[int, str]:
        if draft.name.endswith(".records.gz"):
            raise InvalidRequest("PLACE", "the disk is full")
        return put(place, draft)

    desk.patch.setattr(backup, "_put", full)
    told = desk.fails(Exit.IN_PART, "backup", "create", "part", "--records")
    assert "part has a part of a backup now" in told and [one.name for one in Path("part").glob("*.tar.gz")]
