"""``memolith stores update --approval`` and ``--pipelines``: policies of a store, as the API has them."""

from __future__ import annotations

import re
from typing import get_type_hints

import pytest

from memolith.clients.cli import stores
from memolith.clients.cli.failures import Exit
from memolith.wire.store_bodies import Approval, Pipelines
from tests.unit.clients.desk import Desk


@pytest.mark.parametrize(("option", "body"), [("approval", Approval), ("pipelines", Pipelines)])
def test_the_help_of_a_policy_names_every_field_that_the_api_takes(
    option: str, body: type[Approval] | type[Pipelines]
) -> None:
    said = get_type_hints(stores.update, include_extras=True)[option].__metadata__[0].help
    assert [name for name in body.model_fields if name not in re.findall(r"\w+", said)] == []


def test_a_store_is_told_in_which_folders_every_write_waits_for_a_person(desk: Desk) -> None:
    def updated(*words: str) -> object:
        options = [word for one in words for word in ("--approval", one)]
        approval = desk.json("stores", "update", desk.store, *options)["approval"]
        return approval["agents"], approval["paths"]

    policy, legal = {"prefix": "/policy/"}, {"prefix": "/legal, tax/", "require": 2}
    both = updated("paths=/policy/", "agents=propose", "paths=/legal, tax/,require=2")
    assert both == ("propose", [legal, policy])
    assert updated("agents=write") == ("write", [legal, policy]), "what is not given stays"
    assert updated("paths=/policy/,require=1") == ("write", [policy]), "the list is replaced as a whole"
    assert updated("paths=") == ("write", [])


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("paths=policy/", "approval.paths.0.prefix"),
        ("paths=/policy", "approval.paths.0.prefix"),
        ("paths=/policy/,require=3", "approval.paths.0.require"),
        ("paths=/policy/,require=two", "approval.paths.0.require"),
    ],
)
def test_what_is_no_such_folder_is_refused_by_its_field(desk: Desk, word: str, field: str) -> None:
    assert field in desk.fails(Exit.FAILED, "stores", "update", desk.store, "--approval", word)


@pytest.mark.parametrize("name", ["model", "max_deletes"])
def test_a_pipelines_setting_without_a_value_is_refused_by_its_option_and_changes_nothing(
    desk: Desk, name: str
) -> None:
    words = ("--pipelines", "dreams=off", "--pipelines", f"{name}=")
    assert f"--pipelines: {name}= has no value" in desk.fails(Exit.USAGE, "stores", "update", desk.store, *words)
    assert desk.json("stores", "show", desk.store)["pipelines"]["dreams"] == "allow"


def test_an_approval_without_a_value_is_refused_by_its_field(desk: Desk) -> None:
    assert "approval.agents" in desk.fails(Exit.FAILED, "stores", "update", desk.store, "--approval", "agents=")
