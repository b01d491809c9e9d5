"""``memolith backup``: stores outlive their deployment in a folder, and no damaged backup is restored."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from tests.api.harness import Backend, memolith_backend
from tests.api.loopback import serving
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_history import history, live, lived, rewritten


def elsewhere(desk: Desk, backup: str, *more: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Restores into a new, empty deployment and moves the desk there: old id to new, and the report."""
    code, out, err = restored_at(desk, backup, *more)
    assert code == 0, err
    report = json.loads(out)
    return {row["from"]: row["store"] for row in report["stores"]}, report


def restored_at(desk: Desk, backup: str, *more: str) -> tuple[int, str, str]:
    other = memolith_backend()
    desk.backend = other
    with serving(other.answer) as port:
        words = ("--api-url", f"http://127.0.0.1:{port}", "--api-key", other.api_key, "--json")
        return desk.run("backup", "restore", backup, *more, *words)


@pytest.mark.slow
def test_a_destroyed_deployment_is_restored_from_a_backup_with_every_store_and_version(desk: Desk) -> None:
    lived(desk)
    other = desk.json("stores", "create", "Archived", "--metadata", "team=core")["id"]
    policy = {"scan_policy": {"policy": "strict"}}
    desk.backend.client().beta.memory_stores.update(other, extra_body=policy)
    desk.ok("put", other, "/x.md", typed=b"kept")
    desk.ok("stores", "archive", other, "--yes")
    before = {store: (history(desk, store), live(desk, store)) for store in (desk.store, other)}
    report = desk.json("backup", "create", "saved")
    assert report["versions"] == sum(len(versions) for versions, _ in before.values())
    assert len(desk.json("backup", "verify", "saved")) == 2
    made, report = elsewhere(desk, "saved")
    assert "scan policy" in {row["path"] for row in report["rows"]}
    assert set(made) == set(before)
    stores = desk.backend.client().beta.memory_stores
    for old, new in made.items():
        assert (history(desk, new), live(desk, new)) == before[old]
    archived = stores.retrieve(made[other])
    assert (archived.name, archived.metadata, archived.archived_at is None) == ("Archived", {"team": "core"}, False)


@pytest.mark.parametrize(
    ("holder", "options", "restored"),
    [
        ("person", ["--max-trust", "user"], {"/person": "user", "/agent": "agent", "/web": "tool_external"}),
        ("person", [], {"/person": "agent", "/agent": "agent", "/web": "tool_external"}),
        ("agent", ["--max-trust", "user"], {"/person": "agent", "/agent": "agent", "/web": "tool_external"}),
        ("person", ["--max-trust", "imported"], {"/person": "imported", "/agent": "imported", "/web": "imported"}),
    ],
)
def test_a_backup_keeps_trust_classes_as_far_as_the_restoration_and_its_key_go(
    desk: Desk, holder: str, options: list[str], restored: dict[str, str]
) -> None:
    person = desk.backend.issue_key("main", "write", holder="person")
    web = {
        "id": f"memver_01k{'0' * 23}",
        "memory_id": f"mem_01k{'0' * 23}",
        "operation": "created",
        "created_at": "2026-01-02T03:04:05Z",
        "path": "/web",
        "content": "a page",
        "trust": "tool_external",
    }
    body = {"versions": [web], "max_trust": "agent"}
    assert desk.backend.raw("POST", f"/v1/memory_stores/{desk.store}/memory_versions", body=body).status == 200
    desk.ok("put", desk.store, "/person", "--api-key", person, typed=b"mine")
    desk.ok("put", desk.store, "/agent", typed=b"noted")
    desk.ok("backup", "create", "saved")
    key = desk.backend.issue_key("main", "admin", holder=holder)
    [made] = json.loads(desk.ok("backup", "restore", "saved", "--api-key", key, *options, "--json"))["stores"]
    assert {row["path"]: row["trust"] for row in desk.json("ls", made["store"])} == restored


@pytest.mark.slow
def test_a_deleted_and_erased_store_alone_comes_back_from_a_backup(desk: Desk) -> None:
    lived(desk)
    desk.json("stores", "create", "Other")
    before = history(desk, desk.store)
    desk.ok("backup", "create", "saved", "--store", desk.store)
    desk.ok("stores", "delete", desk.store, "--yes")
    [row] = json.loads(desk.ok("backup", "restore", "saved", "--json"))["stores"]
    assert row["from"] == desk.store != row["store"]
    assert history(desk, row["store"]) == before
    assert {store["name"] for store in desk.json("stores", "list")} == {"Team notes", "Other"}


def flip(folder: Path, tar: Path) -> None:
    data = bytearray(tar.read_bytes())
    data[len(data) // 2] ^= 1
    tar.write_bytes(data)


def another_schema(folder: Path, tar: Path) -> None:
    manifest = folder / "backup.json"
    manifest.write_text(manifest.read_text().replace('"schema": 1', '"schema": 2'))


def outside(folder: Path, tar: Path) -> None:
    manifest = folder / "backup.json"
    manifest.write_text(manifest.read_text().replace(tar.name, f"../{tar.name}"))


def listed(name: str, value: object) -> Callable[[Path, Path], object]:
    """What changes a field of the one store that the manifest lists, and one of what it tells of it."""

    def change(folder: Path, tar: Path) -> None:
        manifest = json.loads((folder / "backup.json").read_text())
        [one] = manifest["stores"]
        (one if name in one else one["store"])[name] = value
        (folder / "backup.json").write_text(json.dumps(manifest))

    return change


def without_a_path(folder: Path, tar: Path) -> None:
    """The tar, and what the manifest says of it, as somebody made them who gave a version no text as its path."""
    tar.rename("history.tar")
    rewritten(str(tar), lambda manifest, lines: lines[0].update(path=5))
    listed("size_bytes", tar.stat().st_size)(folder, tar)
    listed("sha256", hashlib.sha256(tar.read_bytes()).hexdigest())(folder, tar)


DAMAGES: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "a flipped bit": (flip, "SHA-256"),
    "a missing file": (lambda folder, tar: tar.unlink(), "missing"),
    "a shorter file": (lambda folder, tar: tar.write_bytes(tar.read_bytes()[:-1]), "SHA-256"),
    "no manifest": (lambda folder, tar: (folder / "backup.json").unlink(), "no backup"),
    "half a manifest": (lambda folder, tar: (folder / "backup.json").write_text('{"format"'), "no sense"),
    "another schema": (another_schema, "schema 2"),
    "a file outside": (outside, "outside of it"),
    "a name of a file that is a number": (
        listed("file", 5),
        "backup.json is damaged: stores.0.file: must be a string;",
    ),
    "a size that is a text": (listed("size_bytes", "5"), "stores.0.size_bytes: must be a whole number;"),
    "a store that is a list": (listed("store", []), "stores.0.store: must be an object;"),
    "a store without an id": (listed("id", None), "stores.0.store.id: must be a string;"),
    "settings that are a list": (listed("approval", ["x"]), "stores.0.store.approval: must be an object;"),
    "a path that is a number": (without_a_path, "versions.jsonl, line 1, path: must be a string;"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_backup_is_named_and_nothing_is_restored_from_it(desk: Desk, damage: str) -> None:
    desk.put("/a.md", "one")
    desk.ok("backup", "create", "saved")
    harm, told = DAMAGES[damage]
    harm(Path("saved"), Path("saved") / f"{desk.store}.tar.gz")
    assert told in desk.fails(Exit.USAGE, "backup", "verify", "saved")
    assert told in desk.fails(Exit.USAGE, "backup", "restore", "saved")
    assert len(desk.json("stores", "list")) == 1


@pytest.mark.slow
def test_a_backup_says_what_it_leaves_out_and_keeps_the_records_of_a_store_if_asked(desk: Desk) -> None:
    desk.ok("put", desk.store, "/a.md", typed=b"text")
    session = desk.json("sessions", "begin", desk.store)["id"]
    desk.ok("cite", session, "/a.md", "--note", "what it helped with")
    edit = {"op": "create", "path": "/b.md", "content": "wanted", "why": "said twice"}
    opened = desk.backend.raw("POST", f"/v1/memory_stores/{desk.store}/proposals", body={"why": "w", "edits": [edit]})
    desk.backend.raw("POST", f"/v1/memory_stores/{desk.store}/proposals/{opened.body['id']}/withdraw")
    [without] = [row for row in desk.json("backup", "create", "bare")["rows"] if row["result"] == "noted"]
    assert "without proposals, sessions, transcripts and dreams" in without["reason"]
    assert desk.json("backup", "verify", "bare")[0]["records"] is None
    assert "without proposals" in desk.run("backup", "create", "told")[1], "people are told, too"
    [kept] = [row for row in desk.json("backup", "create", "whole", "--records")["rows"] if row["result"] == "noted"]
    assert "1 events, 1 proposals, 1 sessions; these are not restored" in kept["reason"]
    [stored] = desk.json("backup", "verify", "whole")
    file = next(Path("whole").glob("*.records.gz"))
    found = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert (stored["records"], len(found)) == (3, 3)
    proposal = next(one for one in found if one["kind"] == "proposal")
    assert (proposal["status"], proposal["edits"][0]["content"]) == ("withdrawn", "wanted")
    assert [one["note"] for one in found if one["kind"] == "event"] == ["what it helped with"]
    _, report = elsewhere(desk, "whole")
    assert any("are not restored" in (row["reason"] or "") for row in report["rows"])
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    code, _, err = restored_at(desk, "whole")
    assert (code, f"{file} is damaged" in err) == (Exit.USAGE, True)


def test_a_backup_overwrites_nothing_and_an_interrupted_one_is_none(desk: Desk) -> None:
    Path("saved").mkdir()
    Path("saved/mine.txt").write_text("mine")
    assert "new or empty" in desk.fails(Exit.USAGE, "backup", "create", "saved")
    assert [one.name for one in Path("saved").iterdir()] == ["mine.txt"]
    desk.patch.setattr("memolith.clients.transfer.backup._write_manifest", lambda *_: exit(9))
    assert desk.run("backup", "create", "other")[0] == 9
    assert "interrupted" in desk.fails(Exit.USAGE, "backup", "verify", "other")


def test_only_stores_of_the_backup_can_be_chosen(desk: Desk) -> None:
    desk.ok("backup", "create", "saved")
    assert "memstore_x is not in the backup" in desk.fails(
        Exit.USAGE, "backup", "restore", "saved", "--store", "memstore_x"
    )


def stopping(backend: Backend, path: str = "memory_versions", allowed: int = 5, busy: bool = False) -> Any:
    """A deployment that refuses the POSTs to a path, after those that are allowed: by default imports of versions.

    It answers with a 500 that says nothing, or that the key has used up its limit.
    """
    left = [allowed]
    refusal: Any = {"statusCode": 500, "headers": {}, "body": '{"type":"error"}'}
    if busy:
        told = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
        refusal = {"statusCode": 429, "headers": {"retry-after": "0.01"}, "body": json.dumps(told)}

    def answer(event: Any) -> Any:
        if event["rawPath"].endswith(path) and event["requestContext"]["http"]["method"] == "POST":
            left[0] -= 1
            if left[0] < 0:
                return {**refusal, "isBase64Encoded": False}
        return backend.answer(event)

    return answer


@pytest.mark.slow
def test_a_restoration_that_stops_says_how_to_go_on_and_loses_nothing(desk: Desk) -> None:
    lived(desk)
    before = history(desk, desk.store)
    second = desk.json("stores", "create", "Second")["id"]
    desk.ok("backup", "create", "saved", "--store", desk.store, "--store", second)
    desk.patch.setattr("memolith.clients.transfer.history.IMPORT_MAX_VERSIONS", 1)
    with serving(stopping(desk.backend)) as port:
        code, _, err = desk.run("backup", "restore", "saved", "--api-url", f"http://127.0.0.1:{port}")
    assert code != 0
    for told in ("to go on: memolith ", "then: memolith "):
        again = err.partition(told)[2].split("\n")[0]
        desk.ok(*again.removesuffix(f" --api-url http://127.0.0.1:{port}").split())
    stores = desk.json("stores", "list")
    assert len(stores) == 4, "each of the two was made once"
    made = {store["name"]: store["id"] for store in stores[:2]}
    assert history(desk, made["Team notes"]) == before
    assert set(made) == {"Team notes", "Second"}


def test_single_stores_are_backed_up_and_restored_by_their_names(desk: Desk) -> None:
    desk.put("/a.md", "one")
    second = desk.ok("stores", "create", "Second").strip()
    desk.ok("stores", "create", "Third")
    desk.ok("backup", "create", "saved", "--store", "Team notes", "--store", "Second")
    assert {one["name"] for one in desk.json("backup", "verify", "saved")} == {"Team notes", "Second"}
    report = desk.json("backup", "restore", "saved", "--store", "Second")
    assert [one["from"] for one in report["stores"]] == [second]
    assert "Third is not in the backup" in desk.fails(Exit.USAGE, "backup", "restore", "saved", "--store", "Third")
    assert "no store is called Nobody" in desk.fails(Exit.NOT_FOUND, "backup", "create", "other", "--store", "Nobody")


def test_a_name_that_two_stores_of_a_backup_have_is_refused_with_their_ids(desk: Desk) -> None:
    other = desk.ok("stores", "create", "Team notes").strip()
    desk.ok("backup", "create", "saved")
    told = desk.fails(Exit.USAGE, "backup", "restore", "saved", "--store", "Team notes")
    assert desk.store in told and other in told
