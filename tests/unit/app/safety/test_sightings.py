"""What the second look has seen in other memories of a store: secrets that are quoted, phrases that spread."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memolith.app.safety.sightings import REPEATED_IN, Sightings
from memolith.app.safety.write_gate import QUOTED_RULE, REPEATED_RULE
from memolith.core.objects.verdict_record import VerdictOutcome
from memolith.core.rows.safety import SightingRow
from tests.unit.app.looking import SECRET, SUSPECT, WEAK_SECRET
from tests.unit.app.safety.second_look import Looked
from tests.unit.app.scene import AWAY, HOME


@pytest.fixture
def scene() -> Looked:
    return Looked()


def test_a_memory_that_quotes_another_memorys_secret_is_withheld(scene: Looked) -> None:
    scene.write("/a", f"the key is {SECRET}")
    quoting = scene.write("/b", f"log in with user:{SECRET}, then go on")
    assert (VerdictOutcome.WITHHOLD, (QUOTED_RULE,)) in scene.rules()
    assert scene.withheld(AWAY, quoting)


def test_a_secret_that_was_only_suspected_is_only_flagged_where_it_is_quoted(scene: Looked) -> None:
    scene.write("/a", f"the key is {WEAK_SECRET}")
    quoting = scene.write("/b", f"log in with {WEAK_SECRET}")
    assert (VerdictOutcome.FLAG, (QUOTED_RULE,)) in scene.rules()
    assert not scene.withheld(HOME, quoting)


def test_a_memory_does_not_quote_itself_nor_a_memory_of_another_store(scene: Looked) -> None:
    memory = scene.write("/a", f"the key is {SECRET}")
    scene.update(memory, f"we used {SECRET} once")
    scene.deliver()
    scene.store = scene.create_store().id
    scene.deliver()
    scene.write("/b", f"we used {SECRET} once")
    assert QUOTED_RULE not in str(scene.rules())


def test_what_a_person_released_is_no_secret_of_anybodys(scene: Looked) -> None:
    memory = scene.write("/a", f"the key is {SECRET}")
    scene.release(memory)
    quoting = scene.write("/b", f"log in with {SECRET}")
    assert not scene.withheld(HOME, quoting)


def test_a_suspect_phrase_in_three_memories_is_withheld_from_the_third_on(scene: Looked) -> None:
    first = scene.write("/a", f"one. {SUSPECT}, here.")
    second = scene.write("/b", f"two\n{SUSPECT.upper()}")
    assert [outcome for outcome, _ in scene.rules()] == [VerdictOutcome.FLAG] * 2
    third = scene.write("/c", f"three: {SUSPECT}!")
    (withheld,) = [rules for outcome, rules in scene.rules() if outcome is VerdictOutcome.WITHHOLD]
    assert withheld == (REPEATED_RULE,)
    assert [scene.withheld(AWAY, one) for one in (first, second, third)] == [False, False, True]


def test_versions_of_one_memory_are_no_spreading(scene: Looked) -> None:
    memory = scene.write("/a", f"1 {SUSPECT}")
    for number in range(2, 6):
        memory = scene.update(memory, f"{number} {SUSPECT}")
        scene.deliver()
    assert {outcome for outcome, _ in scene.rules()} == {VerdictOutcome.FLAG}


def test_a_phrase_of_a_released_text_does_not_count_any_more(scene: Looked) -> None:
    for path in ("/a", "/b"):
        scene.write(path, f"{path} {SUSPECT}")
    third = scene.write("/c", f"3 {SUSPECT}")
    scene.release(third)
    fourth = scene.write("/d", f"4 {SUSPECT}")
    assert not scene.withheld(HOME, fourth)
    assert not scene.withheld(HOME, third)


@pytest.mark.parametrize("before", [3, 4, 5, 6, 7])
def test_a_phrase_that_spread_far_counts_no_more_once_the_text_of_its_last_memory_is_released(
    scene: Looked, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setattr("memolith.app.safety.sightings.SIGHTINGS_PER_QUERY", 2)
    for number in range(before):
        last = scene.write(f"/{number}", f"{number} {SUSPECT}")
    assert scene.withheld(HOME, last)
    scene.release(last)
    following = scene.write("/next", f"next {SUSPECT}")
    assert not scene.withheld(HOME, following)
    assert not scene.withheld(HOME, last)


def test_a_released_text_is_looked_for_among_so_many_memories_that_have_a_phrase_and_no_more(
    scene: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.app.safety.sightings.SIGHTINGS_PER_QUERY", 1)
    monkeypatch.setattr("memolith.app.safety.sightings.RELEASES_SOUGHT_MAX", REPEATED_IN + 2)
    memories = [scene.write(f"/{number}", f"{number} {SUSPECT}") for number in range(REPEATED_IN + 3)]
    scene.release(memories[-1])
    assert scene.withheld(HOME, scene.write("/beyond", f"beyond {SUSPECT}"))
    scene.release(memories[-2])
    assert not scene.withheld(HOME, scene.write("/within", f"within {SUSPECT}"))


def test_a_phrase_costs_one_query_until_it_spreads_and_then_one_read_besides(
    scene: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    query, any_released = Sightings._query, Sightings.any_released

    def counted_query(self: Sightings, prefix: str, limit: int, after: str | None = None) -> object:
        asked.append(prefix.split("#")[1])
        return query(self, prefix, limit, after)

    def counted_read(self: Sightings, rows: Sequence[SightingRow]) -> bool:
        asked.append("released?")
        return any_released(self, rows)

    monkeypatch.setattr(Sightings, "_query", counted_query)
    monkeypatch.setattr(Sightings, "any_released", counted_read)
    scene.write("/plain", "nothing to see")
    assert asked == ["secret"]
    for number, extra in enumerate([[], [], ["released?"]]):
        asked.clear()
        scene.write(f"/{number}", f"{number} {SUSPECT}")
        assert asked == ["secret", "phrase", *extra]


def test_what_was_seen_where_comes_back_with_a_rebuild_and_is_the_same_everywhere(scene: Looked) -> None:
    scene.write("/a", f"the key is {SECRET}")
    scene.write("/b", f"{SUSPECT}")
    before = scene.cloud.rows(HOME, "verdicts")
    assert [key for _, key in before if key.startswith("seen#")]
    assert scene.cloud.rows(AWAY, "verdicts") == before
    scene.rebuild(HOME)
    assert scene.cloud.rows(HOME, "verdicts") == before
    quoting = scene.write("/c", f"log in with {SECRET}")
    assert scene.withheld(HOME, quoting)


def test_what_was_seen_where_is_no_case_of_the_quarantine(scene: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.app.api.quarantine.ROWS_PER_QUERY", 2)
    for number in range(3):
        scene.write(f"/{number}", f"the key is hq7-Number{number:04d}")
    for region in (HOME, AWAY):
        listed = scene.at(region).quarantine.page(
            scene.call(), scene.store, include_released=False, limit=10, after=None
        )
        assert len(listed.items) == 3
        assert listed.next_after is None
