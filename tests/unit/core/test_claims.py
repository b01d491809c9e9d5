"""What two statements have to say to contradict each other, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.graph.claims import of_observation, of_relation, own_subjects
from memolith.core.graph.conflicts import Stated, contradicting
from memolith.core.graph.grammar import Observation, Relation, observation
from memolith.core.graph.valid_time import both


def contradict(*statements: str, notes: tuple[str, ...] = ()) -> bool:
    """Tell whether any two contradict each other; each is of a note of its own unless `notes` says which."""
    groups: dict[tuple[str, str], list[Stated]] = {}
    for number, text in enumerate(statements):
        one = observation(number, text)
        assert one is not None
        note = notes[number] if notes else str(number)
        for claim in of_observation(one, ["subject"]):
            stated = Stated(note, number, hash(claim.value), claim.free, one.valid)
            groups.setdefault((claim.subject, claim.key), []).append(stated)
    return any(True for group in groups.values() for _ in contradicting(group))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[limit] The timeout is 30 s", "[limit] the timeout is 45s"),
        ("[plan] We deploy on Thursdays", "[plan] We deploy on Friday."),
        ("[plan] Release is on 2026-05-01", "[plan] Release is on 2026-06-01"),
        ("[decision] We use Redis", "[decision] We do not use Redis"),
        ("[decision] We use Redis", "[decision] We no longer use Redis"),
        ("[decision] The cache uses Redis", "[decision] The cache doesn't use Redis"),
        ("[decision] Wir nutzen Redis", "[decision] Wir nutzen Redis nicht"),
        ("[config] tracing is enabled", "[config] tracing is disabled"),
        ("[config] tracing: on", "[config] tracing: off"),
        ("[config] api port: 8080", "[config] API port: 9090"),
        ("[home] home town: Paris", "[home] Home town: Lyon"),
        ("[team] 4 people work on [[Engine]]", "[team] 5 people work on [[Engine]]"),
    ],
)
def test_statements_that_differ_in_one_value_contradict_each_other(one: str, other: str) -> None:
    assert contradict(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[limit] The timeout is 30 s", "[limit] The timeout is 30s"),
        ("[limit] The timeout is 30 s", "[price] The timeout is 40 s"),
        ("[limit] The timeout of [[A]] is 30 s", "[limit] The timeout of [[B]] is 40 s"),
        ("[log] step 3 done", "[log] step 4 done"),
        ("[log] on 2026-05-01 we deployed 3 times", "[log] on 2026-05-02 we deployed 4 times"),
        ("[tip] Tip: use vim", "[tip] Tip: use a timer"),
        ("[tech] Python is fast", "[tech] Python is slow"),
        (
            "[plan] @effective[2026-01-01,2026-02-01) We deploy on Mondays",
            "[plan] @effective[2026-02-01,) We deploy on Fridays",
        ),
        ("[decision] We use Redis", "[decision] We use Postgres"),
    ],
)
def test_statements_that_may_both_be_true_do_not(one: str, other: str) -> None:
    assert not contradict(one, other)


def test_a_note_that_gives_several_free_values_gives_a_list_and_one_that_gives_two_numbers_does_not() -> None:
    assert not contradict("[by] author: Ada", "[by] author: Eve", "[by] author: Bob", notes=("a", "a", "b"))
    assert contradict("[config] port: 8080", "[config] port: 9090", notes=("a", "a"))


def test_a_relation_is_contradicted_by_the_same_with_its_type_negated() -> None:
    def claims(type: str) -> list[tuple[str, str]]:
        return [(one.key, one.value) for one in of_relation(Relation(1, type, "Redis"), ["a"])]

    [(key, value)], [(negated_key, negated)] = claims("uses"), claims("does_not_use")
    assert key == negated_key and value != negated
    assert claims("no_longer_uses") == [(negated_key, negated)]
    assert claims("links_to") == []


def test_a_notes_file_name_alone_makes_it_no_subject() -> None:
    assert "todo" not in own_subjects("/a/todo.md", "Things to do", None)
    assert set(own_subjects("/a/todo.md", "Things to do", "x/y")) == {"a/todo", "things-to-do", "x/y"}


def test_a_statement_holds_while_both_it_and_its_note_say_so() -> None:
    assert both((1, 5), (3, None)) == (3, 5)
    assert both(None, (3, None)) == (3, None)
    assert both(None, None) is None


@given(st.text(max_size=300), st.sampled_from([None, "fact"]))
def test_no_text_fails_and_no_statement_contradicts_itself(text: str, category: str | None) -> None:
    one = Observation(1, category, text)
    claims = list(of_observation(one, ["a", "b"]))
    assert len({(claim.subject, claim.key) for claim in claims}) == len(set(claims))
