"""Every combination of the facts that a write is decided by, against the rules that must hold for all of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from memolith.core import decide
from memolith.core.commands import (
    AdoptVersion,
    CreateMemory,
    DeleteMemory,
    ImportedVersion,
    ImportVersion,
    UpdateMemory,
    WriteCommand,
    is_deletion,
    version_ids,
)
from memolith.core.decide import CatchUp, Facts, Look, Place, Unread
from memolith.core.drafts import draft_of
from memolith.core.errors import InvalidRequest, NotFound, PathConflict, PreconditionFailed
from memolith.core.limits import WRITE_ATTEMPTS
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.objects.entry import Actor, Entry, Operation
from memolith.core.paths import path_hash
from memolith.core.rows.content import MemoryRow, PathRow

SALT = bytes(16)
PATH, ELSEWHERE = "/a", "/b"
HERE, THERE = path_hash(SALT, PATH), path_hash(SALT, ELSEWHERE)
ME, OTHER = "mem_me", "mem_other"
NEW, OLD = "memver_" + "1" * 26, "memver_" + "2" * 26
EPOCH = Epoch(1, "us-east-1")

LIVE = MemoryRow(
    store_id="s",
    memory_id=ME,
    generation=3,
    version_id="memver_head",
    path_hash=HERE,
    slot=str(Slot(EPOCH, 3)),
    arrived=str(Slot(EPOCH, 1)),
    updated_at=10,
    created_at=5,
    path=PATH,
    content_sha256=decide.sha256_hex("text"),
    content_size_bytes=4,
)
WITHOUT_TEXT = replace(LIVE, path=None, content_sha256=None, content_size_bytes=None)

HEADS: dict[str, MemoryRow | None] = {
    "unknown": None,
    "live": LIVE,
    "live elsewhere": replace(LIVE, path_hash=THERE, path=ELSEWHERE),
    "deleted": replace(WITHOUT_TEXT, gone=True),
    "deleted elsewhere": replace(WITHOUT_TEXT, gone=True, path_hash=THERE),
    "erased": WITHOUT_TEXT,
    "erased elsewhere": replace(WITHOUT_TEXT, path_hash=THERE),
}
heads = pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
"""A test of each head tries all commands: a test for each pair took a hundred times as long as the decision."""


def is_live(head: MemoryRow | None) -> bool:
    return head is not None and not head.gone and head.path is not None


# ---- the head -------------------------------------------------------------------------------------------------------

UPDATES = [
    UpdateMemory("s", id, NEW, "api_key:k", content, path, expected)
    for id, content, path, expected in product(
        (ME, OTHER),
        (None, "text", "other"),
        (None, PATH, ELSEWHERE),
        (None, decide.sha256_hex("text"), decide.sha256_hex("wrong")),
    )
]
EMPTYING = UpdateMemory("s", ME, NEW, "api_key:k", "", None, decide.sha256_hex("text"))
DELETIONS = [
    DeleteMemory("s", id, NEW, "api_key:k", expected)
    for id, expected in product((ME, OTHER), (None, decide.sha256_hex("text"), decide.sha256_hex("wrong")))
]


@heads
def test_an_update_commits_only_over_the_live_head_that_it_names_and_expects(head: MemoryRow | None) -> None:
    for command in UPDATES:
        check_update(head, command)


def check_update(head: MemoryRow | None, command: UpdateMemory) -> None:
    decision = decide.decide(Facts(SALT, head), command)
    if head is None or not is_live(head) or head.memory_id != command.memory_id:
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, NotFound)
        return
    changes_text = command.content not in (None, "text")
    changes_path = command.path not in (None, head.path)
    if not changes_text and not changes_path:
        assert decision == decide.NoChange()
    elif command.expected_content_sha256 not in (None, head.content_sha256):
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, PreconditionFailed)
    else:
        operation = Operation.MOVED_IN if changes_path else Operation.MODIFIED
        assert decision == decide.Commit(operation, command.path or head.path or "", command.content)


@pytest.mark.parametrize("path", [None, ELSEWHERE])
def test_a_text_is_emptied_on_its_hash_only_once_it_is_known_to_have_been_shown(path: str | None) -> None:
    command = replace(EMPTYING, path=path)
    done = decide.Commit(Operation.MOVED_IN if path else Operation.MODIFIED, path or PATH, "")
    hidden = InvalidRequest("content", "it may not have been read")
    assert decide.decide(Facts(SALT, LIVE), command) is Look.HIDDEN
    assert decide.decide(Facts(SALT, LIVE, hidden=hidden), command) == decide.Refused(hidden)
    assert decide.decide(Facts(SALT, LIVE, hidden=None), command) == done


@pytest.mark.parametrize(
    "command",
    [
        replace(EMPTYING, expected_content_sha256=None),
        replace(EMPTYING, expected_version_id=LIVE.version_id),
        replace(EMPTYING, restored=True),
        replace(EMPTYING, content="other"),
    ],
    ids=["on whatever is there", "on the head itself", "a restored text", "another text"],
)
def test_of_no_other_update_it_is_asked_whether_the_text_was_shown(command: UpdateMemory) -> None:
    assert decide.decide(Facts(SALT, LIVE), command) == decide.Commit(Operation.MODIFIED, PATH, command.content)


def test_emptying_what_is_empty_or_another_text_is_decided_without_that() -> None:
    empty = replace(LIVE, content_sha256=decide.sha256_hex(""))
    assert decide.decide(Facts(SALT, empty), EMPTYING) == decide.NoChange()
    changed = decide.decide(Facts(SALT, replace(LIVE, content_sha256=decide.sha256_hex("new"))), EMPTYING)
    assert isinstance(changed, decide.Refused)
    assert isinstance(changed.error, PreconditionFailed)


@heads
@pytest.mark.parametrize("command", DELETIONS)
def test_a_deletion_commits_only_over_the_live_head_that_it_names_and_expects(
    head: MemoryRow | None, command: DeleteMemory
) -> None:
    decision = decide.decide(Facts(SALT, head), command)
    if head is None or not is_live(head) or head.memory_id != command.memory_id:
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, NotFound)
    elif command.expected_content_sha256 not in (None, head.content_sha256):
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, PreconditionFailed)
    else:
        assert decision == decide.Commit(Operation.DELETED, head.path or "", None)


CREATION = CreateMemory("s", ME, NEW, "api_key:k", PATH, "text")


def test_a_creation_needs_no_head_and_every_other_command_asks_for_it_first() -> None:
    assert decide.decide(Facts(SALT), CREATION) == decide.Commit(Operation.CREATED, PATH, "text")
    others: list[WriteCommand] = [*UPDATES, *DELETIONS, *ADOPTIONS, *IMPORTS]
    for command in others:
        assert decide.decide(Facts(SALT, Unread.UNREAD), command) is Look.HEAD


# ---- paths ----------------------------------------------------------------------------------------------------------


@heads
def test_a_path_is_free_only_without_an_occupant_or_with_one_that_was_erased_there(head: MemoryRow | None) -> None:
    for occupant, moving_id in product((None, ME, OTHER), repeat=2):
        check_path(occupant, moving_id, head)


def check_path(occupant: str | None, moving_id: str | None, head: MemoryRow | None) -> None:
    decision = decide.decide_path(Place(PATH, HERE, occupant, head), moving_id)
    if occupant is None:
        assert decision == decide.Reserve()
    elif occupant == moving_id:
        assert decision is CatchUp.ONWARD, "the memory that is to come here has come already"
    elif head is HEADS["erased"]:
        assert decision == decide.Reserve()
    elif head is HEADS["live"]:
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, PathConflict)
        assert decision.error.conflicting_memory_id == occupant
    else:
        assert decision is CatchUp.TAIL, "the row of the path says that somebody is here whose own row says no"


LISTED = PathRow(store_id="s", path=PATH, memory_id=ME)
CLAIMED = PathRow(store_id="s", path=PATH, claim_id="c", claim_position=f"{HERE}/{EPOCH}.0000000001")


@pytest.mark.parametrize("is_expired", [False, True])
@pytest.mark.parametrize("row", [None, LISTED, CLAIMED, replace(CLAIMED, memory_id=ME)])
def test_a_claim_never_replaces_another_and_breaks_only_an_expired_one(row: PathRow | None, is_expired: bool) -> None:
    decision = decide.decide_claim(row, is_expired=is_expired)
    if row is None or row.claim_id is None:
        assert decision == decide.Reserve()
    else:
        assert decision == (decide.Break() if is_expired else decide.Wait())


@heads
@pytest.mark.parametrize("is_expired", [False, True])
@pytest.mark.parametrize("neighbour", [LISTED, CLAIMED, replace(CLAIMED, memory_id=ME)])
def test_a_neighbour_refuses_only_if_it_lives_where_it_is_listed_and_nobody_passes_one(
    neighbour: PathRow, is_expired: bool, head: MemoryRow | None
) -> None:
    decision = decide.decide_neighbour(neighbour, head, is_expired=is_expired)
    if neighbour.memory_id is None:
        assert decision == (decide.Break() if is_expired else decide.Wait())
    elif head is HEADS["live"]:
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, PathConflict)
        assert (decision.error.conflicting_path, decision.error.conflicting_memory_id) == (PATH, ME)
    else:
        assert decision is CatchUp.LISTING


# ---- adoption -------------------------------------------------------------------------------------------------------


def straggler(operation: Operation, path: str | None = PATH) -> Entry:
    return Entry(
        key=LogKey("s", HERE, Slot(EPOCH, 4)),
        operation=operation,
        version_id="memver_" + "3" * 26,
        memory_id=ME,
        generation=4,
        parent_version_id="memver_head",
        path=path,
        created_at=20,
        created_by=Actor.parse("api_key:k"),
        imported=True,
    )


ADOPTIONS = [
    AdoptVersion(straggler(operation, path), None if operation is Operation.DELETED else "late text")
    for operation, path in product(Operation, (PATH, None))
]


@heads
def test_a_late_version_is_adopted_only_over_the_head_that_it_builds_on(head: MemoryRow | None) -> None:
    known = (None, False, True)
    for builds_on, succeeded, command in product(known, known, ADOPTIONS):
        check_adoption(head, builds_on, succeeded, command)


def check_adoption(
    head: MemoryRow | None, builds_on: bool | None, succeeded: bool | None, command: AdoptVersion
) -> None:
    decision = decide.decide(Facts(SALT, head, builds_on, succeeded), command)
    operation = command.straggler.operation
    if isinstance(decision, decide.Commit):
        assert operation in (Operation.CREATED, Operation.MODIFIED, Operation.DELETED), "a rename is left apart"
        assert decision.operation is operation
        assert not decision.blank
        if head is None:
            assert operation is Operation.CREATED
        else:
            assert operation is not Operation.CREATED
            assert builds_on is True
            assert not head.gone
            assert head.path_hash == command.straggler.key.path_hash
            assert head.path is not None or succeeded is False
            assert decision.content == command.content
            assert decision.reserves is (head.path is None and command.content is not None)
    elif decision is Look.LINEAGE:
        assert builds_on is None
    elif decision is Look.SUCCESSOR:
        assert succeeded is None
        assert builds_on is True
        assert head is HEADS["erased"]
    else:
        assert decision == decide.LeftApart()
        may_follow = head in (HEADS["live"], HEADS["erased"]) and operation in (Operation.MODIFIED, Operation.DELETED)
        is_first = head is None and operation is Operation.CREATED
        assert not is_first
        assert not may_follow or builds_on is False or (head is HEADS["erased"] and succeeded is True)


# ---- imports --------------------------------------------------------------------------------------------------------

IMPORTS = [
    ImportVersion("s", ImportedVersion(ME, OLD, operation, "api_key:k", 7, path, content, redacted_at))
    for operation, path, content, redacted_at in product(
        ("created", "modified", "deleted"), (None, PATH, ELSEWHERE), (None, "text"), (None, 9)
    )
    if content is None or (path is not None and redacted_at is None and operation != "deleted")
]
"""Every version that the import accepts: a text has a path, and is neither a deletion's nor redacted."""


@heads
def test_an_imported_version_follows_what_is_here_and_is_refused_only_before_a_beginning_or_after_an_end(
    head: MemoryRow | None,
) -> None:
    for succeeded, command in product((None, False, True), IMPORTS):
        check_import(head, succeeded, command)


def check_import(head: MemoryRow | None, succeeded: bool | None, command: ImportVersion) -> None:
    version, decision = command.version, decide.decide(Facts(SALT, head, succeeded=succeeded), command)
    is_end = version.operation == "deleted"
    if head is None and is_end:
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, InvalidRequest)
        return
    if head is not None and head.gone:
        assert isinstance(decision, decide.Refused)
        assert isinstance(decision.error, NotFound)
        return
    moves = head is not None and version.path is not None and path_hash(SALT, version.path) != head.path_hash
    leaves = is_end or (moves and version.content is not None)
    if leaves and head is not None and head.path is None and succeeded is not False:
        assert decision == (decide.LeftApart() if succeeded else Look.SUCCESSOR), "it would unlist its successor"
        return
    assert isinstance(decision, decide.Commit)
    assert (decision.operation is Operation.CREATED) == (head is None)
    assert (decision.operation is Operation.DELETED) == is_end
    assert decision.blank == version.blank, "what was erased stays erased, and nothing else does"
    assert not decision.blank or not decision.content
    if head is None:
        assert decision.path == ("" if version.blank else version.path)
        assert not decision.reserves
        return
    at_head = not decision.path or path_hash(SALT, decision.path) == head.path_hash
    assert decision.blank or decision.operation is Operation.MOVED_IN or at_head, "else no indexer accepts it"
    assert (decision.operation is Operation.MOVED_IN) == (moves and version.content is not None)
    listed_anew = version.content is not None and not is_live(head) and not moves
    assert decision.reserves == listed_anew, "a text after an erased version is seen at its path again"


# ---- commands -------------------------------------------------------------------------------------------------------


def test_only_a_command_that_may_rename_or_did_in_an_earlier_import_has_an_id_for_each_attempt() -> None:
    commands: list[WriteCommand] = [CREATION, *UPDATES, *DELETIONS, *ADOPTIONS, *IMPORTS]
    for command in commands:
        may_rename = (isinstance(command, UpdateMemory) and command.path is not None) or (
            isinstance(command, ImportVersion) and command.version.operation == "modified"
        )
        ids = version_ids(command)
        assert ids[0] == command.version_id
        assert len(set(ids)) == len(ids) == (WRITE_ATTEMPTS if may_rename else 1)


def test_deletions_are_told_from_writes_of_text_whatever_command_brings_them() -> None:
    assert all(map(is_deletion, DELETIONS))
    assert not is_deletion(CREATION)
    assert not any(map(is_deletion, UPDATES))
    assert {one.straggler.operation for one in ADOPTIONS if is_deletion(one)} == {Operation.DELETED}
    assert {one.version.operation for one in IMPORTS if is_deletion(one)} == {"deleted"}


def test_an_adopted_or_imported_version_keeps_its_time_and_a_callers_has_the_clocks() -> None:
    adopted = draft_of(ADOPTIONS[0], 99, ("flag",))
    assert (adopted.now_us, adopted.adopts, adopted.imported) == (20, Slot(EPOCH, 4), True)
    imported = draft_of(IMPORTS[0], 99, ("flag",))
    assert (imported.now_us, imported.adopts, imported.imported) == (7, None, True)
    own = draft_of(CREATION, 99, ("flag",), "memver_second")
    assert (own.now_us, own.adopts, own.imported, own.version_id) == (99, None, False, "memver_second")
    assert own.flags == imported.flags == adopted.flags == ("flag",)
