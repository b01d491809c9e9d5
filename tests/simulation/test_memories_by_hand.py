"""Operations of one memory across the terms of homes, on evidence made by hand: what is objected to, and let pass."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from memolith.app.kernel.results import Version
from memolith.core.log_position import Epoch, LogRef, Slot
from tests.simulation.checkers import operations_are_linearizable
from tests.simulation.checkers.readers import a_region_never_goes_back
from tests.simulation.checkers.terms import makers, memories_are_linearizable
from tests.simulation.evidence import Apart, Evidence, Final, Tables, Written
from tests.simulation.evidence_by_hand import ADOPTED, HOME, MEMORY, ORIGINAL, STORE, VERSION, evidence_with
from tests.simulation.history import History, Operation, Refusal, Seen

# ---- who made a version ---------------------------------------------------------------------------------------------

BEFORE, AFTER = "the text before", "the text after"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


CREATION = Operation(
    0, "c0", HOME, STORE, True, "create", {"path": "/a", "content": BEFORE}, 1, 2,
    Seen(MEMORY, VERSION, "/a", _sha256(BEFORE)),
)  # fmt: skip
"""The memory's, which comes first in every history below."""


def _rename(number: int, invoked: int, returned: int, expected: str | None = None) -> Operation:
    """A rename of the memory to `/b` that was answered with the version of one rename, with the text before it."""
    asked = {"memory_id": MEMORY, "content": None, "path": "/b", "expected": expected}
    answer = Seen(MEMORY, "memver_b", "/b", _sha256(BEFORE))
    return Operation(number, "c0", HOME, STORE, True, "update", asked, invoked, returned, answer)


def _makers(*renames: Operation, put_at: int, adopted: bool = False) -> frozenset[int]:
    """Which of the renames made the version, which follows another at `/a` and was put then."""
    row = {"version_id": "memver_b", "parent_version_id": VERSION}
    evidence = replace(
        evidence_with(History(operations=[CREATION, *renames]), {HOME: {"versions": {(STORE, "memver_b"): row}}}),
        homes={STORE: HOME},
        written={"memver_b": Written(HOME, ORIGINAL, adopted, ADOPTED if adopted else ORIGINAL, put_at)},
    )
    return makers(evidence, STORE, [CREATION, *renames]) - {0}


def test_of_two_renames_that_were_told_of_one_version_the_one_that_expected_another_text_did_not_make_it() -> None:
    assert _makers(_rename(1, 3, 9, _sha256("another")), _rename(2, 4, 8, _sha256(BEFORE)), put_at=5) == {2}


def test_who_made_what_was_adopted_may_have_expected_another_text_than_the_one_that_it_follows_since() -> None:
    assert _makers(_rename(1, 3, 9, _sha256("another")), put_at=5, adopted=True) == {1}


def test_who_began_after_a_version_was_put_did_not_make_it_though_nobody_was_shown_it_before() -> None:
    assert _makers(_rename(1, 6, 9), put_at=5) == frozenset()
    assert _makers(_rename(1, 4, 9), put_at=5) == {1}


# ---- restorations that nobody was answered --------------------------------------------------------------------------


def _restored(text: str, at: int, put_at: int = 6) -> Evidence:
    """A memory was created, taken over without it, and restored by a call without an answer: another memory is there.

    `text` is what is there at rest, and `put_at` when it was put; the restoration began at 5.
    """
    other = "mem_b"
    asked = {"memory_id": MEMORY, "content": BEFORE, "path": None, "expected": None, "restores": VERSION}
    restoration = Operation(1, "c0", HOME, STORE, True, "update", asked, at)
    version = Version("memver_b", other, STORE, "created", 0, None, "/a", _sha256(text), 0, None, None)
    final = Final(versions={other: (version,)}, read={other: Seen(other, "memver_b", "/a", _sha256(text))})
    return replace(
        evidence_with(History(operations=[CREATION, restoration]), {HOME: {"versions": {}}}),
        final={STORE: {HOME: final}},
        homes={STORE: HOME},
        homes_ever={STORE: frozenset({HOME})},
        taken_over={STORE: 3},
        takeovers={STORE: [3]},
        epochs={STORE: (Epoch(1, HOME),)},
        apart={STORE: (Apart(VERSION, MEMORY, 1, "created", "/a", _sha256(BEFORE)),)},
        written={"memver_b": Written(HOME, ADOPTED, adopted=False, stands=ADOPTED, put_at=put_at)},
    )


def test_a_restoration_without_an_answer_may_have_made_another_memory() -> None:
    assert not list(operations_are_linearizable(_restored(BEFORE, at=5)))


@pytest.mark.parametrize(
    "evidence", [_restored(AFTER, at=5), _restored(BEFORE, at=7)], ids=["of another text", "that was there before"]
)
def test_a_memory_that_no_restoration_can_have_made_is_objected_to(evidence: Evidence) -> None:
    assert list(operations_are_linearizable(evidence))


def test_a_creation_that_came_late_is_told_from_the_memory_that_its_restoration_made() -> None:
    """Both have the same text. The first was adopted, and renamed; the second is at the path that it had left."""
    evidence = _restored(BEFORE, at=5)
    rename = replace(_rename(2, 7, 8), answer=Seen(MEMORY, "memver_c", "/b", _sha256(BEFORE)))
    versions = (
        Version("memver_c", MEMORY, STORE, "modified", 0, None, "/b", _sha256(BEFORE), 0, None, None),
        Version(VERSION, MEMORY, STORE, "created", 0, None, "/a", _sha256(BEFORE), 0, None, None),
    )
    final = evidence.final[STORE][HOME]
    there = replace(
        final,
        versions={MEMORY: versions, **final.versions},
        read={MEMORY: Seen(MEMORY, "memver_c", "/b", _sha256(BEFORE)), **final.read},
    )
    evidence = replace(
        evidence,
        history=History(operations=[*evidence.history.operations, rename]),
        rows={HOME: {"versions": {(STORE, "memver_c"): {"version_id": "memver_c", "parent_version_id": VERSION}}}},
        final={STORE: {HOME: there}},
        apart={STORE: ()},
        written={
            VERSION: Written(HOME, ORIGINAL, adopted=True, stands=ADOPTED, put_at=1),
            "memver_b": Written(HOME, ADOPTED, adopted=False, stands=ADOPTED, put_at=8),
            "memver_c": Written(HOME, ADOPTED, adopted=False, stands=ADOPTED, put_at=7),
        },
    )
    assert not list(operations_are_linearizable(evidence))


# ---- what is dismissed while it is adopted --------------------------------------------------------------------------


def _adopted_beside(*dismissed: str, restored: str | None = None) -> Evidence:
    """A creation was adopted, its memory refused a write, was not found, and is again what came late after that."""
    there, taker, late = "eu-west-1", Epoch(2, "eu-west-1"), "memver_l"
    stands = str(LogRef("ec2d", Slot(taker, 1)))
    other = Seen("mem_o", "memver_o", "/o", _sha256(AFTER))
    asked = {"memory_id": MEMORY, "content": "refused", "path": None, "expected": _sha256("another")}
    operations = [
        CREATION,
        Operation(1, "c1", there, STORE, True, "create", {"path": "/o", "content": AFTER}, 4, 5, other),
        *(Operation(2, "c1", there, STORE, True, "dismiss", {"version_id": id, "memory_id": MEMORY}, 6, 7, id)
          for id in dismissed),
        Operation(5, "c1", HOME, STORE, True, "update", asked | {"restores": restored}, 6),
        Operation(3, "c1", there, STORE, True, "update", asked, 8, 9, Refusal("PreconditionFailed")),
        Operation(4, "c1", there, STORE, True, "read", {"memory_id": MEMORY}, 10, 11, Refusal("NotFound")),
    ]  # fmt: skip
    versions = (
        Version(late, MEMORY, STORE, "modified", 0, None, "/a", _sha256(AFTER), 0, None, None),
        Version(VERSION, MEMORY, STORE, "created", 0, None, None, None, None, 1, None),
    )
    return replace(
        evidence_with(History(operations=operations), {there: {"versions": {}}}),
        final={STORE: {there: Final(versions={MEMORY: versions})}},
        homes={STORE: there},
        taken_over={STORE: 3},
        takeovers={STORE: [3]},
        epochs={STORE: (Epoch(1, HOME), taker)},
        apart={STORE: ()},
        written={
            VERSION: Written(HOME, ORIGINAL, adopted=True, stands=stands, put_at=1),
            late: Written(HOME, ORIGINAL, adopted=True, stands=stands, put_at=2),
            "memver_o": Written(there, stands, adopted=False, stands=stands, put_at=4),
        },
    )


def test_a_memory_that_was_dismissed_while_it_was_adopted_may_be_gone_until_what_followed_is_adopted() -> None:
    asked = {"memory_id": MEMORY}
    there = Seen(MEMORY, "memver_l", "/a", _sha256(AFTER))
    rest = [Operation(-1, "rest", "eu-west-1", STORE, True, "read", asked, 20, 21, there)]
    assert not list(memories_are_linearizable(_adopted_beside(VERSION), STORE, rest))
    assert not list(memories_are_linearizable(_adopted_beside(restored=VERSION), STORE, rest))
    assert list(memories_are_linearizable(_adopted_beside(), STORE, rest))


def test_a_region_that_showed_a_memory_may_not_find_it_once_what_followed_was_dismissed_while_it_was_adopted() -> None:
    shown = Operation(5, "c1", "eu-west-1", STORE, True, "read", {"memory_id": MEMORY}, 2, 3, CREATION.answer)
    rows: Tables = {"versions": {(STORE, VERSION): {"generation": 1}, (STORE, "memver_l"): {"generation": 2}}}

    def objections(*dismissed: str) -> list[str]:
        evidence = _adopted_beside(*dismissed)
        in_time = Written(HOME, ORIGINAL, adopted=False, stands=ORIGINAL, put_at=1)
        versions = (
            Version("memver_l", MEMORY, STORE, "modified", 0, None, None, None, None, 1, None),
            Version(VERSION, MEMORY, STORE, "created", 0, None, "/a", _sha256(BEFORE), 0, None, None),
        )
        evidence = replace(
            evidence,
            final={STORE: {"eu-west-1": Final(versions={MEMORY: versions})}},
            history=History(operations=[shown, *evidence.history.operations]),
            rows={"eu-west-1": rows},
            written={**evidence.written, VERSION: in_time},
        )
        return list(a_region_never_goes_back(evidence))

    assert not objections("memver_l")
    assert objections()


# ---- what the lost home redacted ------------------------------------------------------------------------------------


THERE, TAKER = "eu-west-1", Epoch(2, "eu-west-1")
REDACTION = Operation(
    1, "c0", HOME, STORE, True, "redact", {"version_id": VERSION, "memory_id": MEMORY}, 3, 4, VERSION
)  # fmt: skip
"""Of the memory's first version, by the home that is lost at 5."""
UPDATE = Operation(
    4, "c1", THERE, STORE, True, "update",
    {"memory_id": MEMORY, "content": AFTER, "path": None, "expected": None}, 10, 11,
    Seen(MEMORY, "memver_n", "/a", _sha256(AFTER)),
)  # fmt: skip
"""By the new home, of what it has shown."""


def _ends_with_a_redacted_version(*others: Operation, followed: str = VERSION) -> list[str]:
    """The new home shows a memory's first version; what followed it came late; at rest the memory is not found."""
    stands = str(LogRef("ec2d", Slot(TAKER, 1)))
    there = Seen("mem_o", "memver_o", "/o", _sha256(AFTER))
    read = {"memory_id": MEMORY}
    operations = [
        CREATION,
        Operation(2, "c1", THERE, STORE, True, "create", {"path": "/o", "content": AFTER}, 6, 7, there),
        Operation(3, "c1", THERE, STORE, True, "read", read, 8, 9, CREATION.answer),
        *others,
    ]
    evidence = replace(
        evidence_with(History(operations=operations), {THERE: {"versions": {}}}),
        final={STORE: {THERE: Final(versions={MEMORY: (
            Version(VERSION, MEMORY, STORE, "created", 0, None, None, None, None, 1, None),
        )})}},
        homes={STORE: THERE},
        taken_over={STORE: 5},
        takeovers={STORE: [5]},
        epochs={STORE: (Epoch(1, HOME), TAKER)},
        apart={STORE: (Apart("memver_l", MEMORY, 2, "modified", "/b", _sha256(BEFORE), followed),)},
        written={
            VERSION: Written(HOME, ORIGINAL, adopted=False, stands=ORIGINAL, put_at=1),
            "memver_o": Written(THERE, stands, adopted=False, stands=stands, put_at=6),
            "memver_n": Written(THERE, stands, adopted=False, stands=stands, put_at=10),
        },
    )  # fmt: skip
    rest = Operation(-1, "rest", THERE, STORE, True, "read", read, 20, 21, Refusal("NotFound"))
    return list(memories_are_linearizable(evidence, STORE, [rest]))


def test_the_last_version_of_a_cut_may_be_erased_by_the_lost_home_after_the_new_one_has_shown_it() -> None:
    assert not _ends_with_a_redacted_version(REDACTION)


@pytest.mark.parametrize(
    ("others", "followed"),
    [
        ((), VERSION),
        ((replace(REDACTION, answer=Refusal("InvalidRequest")),), VERSION),
        ((replace(REDACTION, region=THERE, invoked=12, returned=13),), VERSION),
        ((REDACTION,), "memver_x"),
        ((REDACTION, UPDATE), VERSION),
    ],
    ids=["unredacted", "refused", "by the new home", "nothing followed it", "written since by the new home"],
)
def test_a_memory_that_the_new_home_has_shown_and_no_order_of_the_lost_one_erased_is_not_gone(
    others: tuple[Operation, ...], followed: str
) -> None:
    assert _ends_with_a_redacted_version(*others, followed=followed)


# ---- a path and its ancestor ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "objected"), [("/b", False), ("/a", True)], ids=["departed", "written there"])
def test_a_memory_may_have_stayed_above_what_was_erased_since_if_its_departure_stands_apart(
    path: str, objected: bool
) -> None:
    """It was renamed, and another created below its old path; at rest it is there, and no version of the other has one.

    `path` is where the version is that stands apart of the first.
    """
    made = Seen("mem_o", "memver_o", "/a/b", _sha256(AFTER))
    asked = {"version_id": made.version_id, "memory_id": made.memory_id}
    operations = [
        CREATION,
        _rename(1, 3, 4),
        Operation(2, "c0", HOME, STORE, True, "create", {"path": made.path, "content": AFTER}, 5, 6, made),
        Operation(3, "c0", HOME, STORE, True, "redact", asked, 7, 8, made.version_id),
    ]
    final = Final(
        versions={
            MEMORY: (Version(VERSION, MEMORY, STORE, "created", 0, None, "/a", _sha256(BEFORE), 0, None, None),),
            made.memory_id: (
                Version(made.version_id, made.memory_id, STORE, "created", 0, None, None, None, None, 1, None),
            ),
        },
        read={MEMORY: CREATION.answer, made.memory_id: "NotFound"},
    )
    evidence = replace(
        evidence_with(History(operations=operations), {HOME: {"versions": {}}}),
        final={STORE: {HOME: final}},
        homes={STORE: HOME},
        homes_ever={STORE: frozenset({HOME})},
        taken_over={STORE: 9},
        takeovers={STORE: [9]},
        epochs={STORE: (Epoch(1, HOME),)},
        apart={STORE: (
            Apart("memver_b", MEMORY, 2, "modified", path, _sha256(BEFORE), VERSION),
            Apart("memver_l", made.memory_id, 2, "modified", made.path, _sha256("late"), made.version_id),
        )},
    )  # fmt: skip
    assert bool(list(operations_are_linearizable(evidence))) is objected
