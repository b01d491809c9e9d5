"""What a store allows its pipelines, also where a newer release has said it."""

from __future__ import annotations

import json

import pytest

from memolith.core.errors import InvalidRequest
from memolith.core.pipelines.dreams import Edit
from memolith.core.pipelines.policy import PipelinesPolicy, changed_pipelines
from memolith.core.trust import AGENT, USER


def test_the_default_stands_nowhere_and_what_is_not_named_stays() -> None:
    assert changed_pipelines(None, None) is None
    assert changed_pipelines(None, {"dreams": "allow"}) is None
    once = changed_pipelines(None, {"max_deletes": 0})
    twice = changed_pipelines(once, {"dreams": "off"})
    assert PipelinesPolicy.of(twice) == PipelinesPolicy(dreams="off", max_deletes=0)
    assert changed_pipelines(twice, {"dreams": "allow", "max_deletes": 5}) is None


@pytest.mark.parametrize("given", [[], "off", {"dreams": None}, {"max_tokens": "10000"}, {"": 1}])
def test_what_is_no_policy_is_refused(given: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        changed_pipelines(None, given)
    assert refused.value.field.startswith("pipelines")


def test_a_word_of_a_newer_release_forbids_and_a_field_of_one_is_passed_over() -> None:
    policy = PipelinesPolicy.of(json.dumps({"dreams": "nightly", "extraction": "write", "may_edit": "own", "at": 3}))
    assert not policy.may_dream
    assert not policy.may_extract
    assert policy.waits(Edit("delete", "/a.md", "w"), USER)


@pytest.mark.parametrize(
    ("stored", "extracts", "dreams"),
    [
        ({}, False, False),
        ({"auto_extract": "propose", "auto_dream": "write"}, True, True),
        ({"auto_extract": "propose", "auto_dream": "propose", "extraction": "off", "dreams": "off"}, False, False),
        ({"auto_extract": "write", "auto_dream": "always"}, False, False),
    ],
)
def test_nothing_happens_by_itself_unless_a_known_word_says_so(stored: object, extracts: bool, dreams: bool) -> None:
    policy = PipelinesPolicy.of(json.dumps(stored))
    assert (policy.extracts_by_itself, policy.dreams_by_itself) == (extracts, dreams)


def test_the_greater_of_the_two_bounds_counts() -> None:
    assert [PipelinesPolicy().deletes(memories) for memories in (0, 50, 59, 60, 1_000)] == [5, 5, 5, 6, 100]
    assert PipelinesPolicy(max_deletes=0, max_delete_percent=0).deletes(1_000) == 0


def test_only_an_edit_of_what_a_person_wrote_waits_where_people_are_spared() -> None:
    policy, change, make = PipelinesPolicy(may_edit="not_people"), Edit("replace", "/a", "w"), Edit("create", "/b", "w")
    assert [policy.waits(change, trust) for trust in (USER, AGENT, None)] == [True, False, False]
    assert not policy.waits(make, None)
    assert not PipelinesPolicy().waits(change, USER)
    assert PipelinesPolicy(dreams="propose").waits(make, None)
