"""``memolith keys`` on a laptop: the same command, over HTTP, and for a deployment still the operator's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memolith.clients.cli import laptop_keys
from memolith.clients.cli.failures import Exit
from tests.api.harness import Backend
from tests.unit.clients.conftest import backend_called
from tests.unit.clients.desk import Desk


@pytest.fixture
def backend() -> Iterator[Backend]:
    with backend_called("laptop") as built:
        yield built


def test_the_command_makes_lists_and_revokes_a_key_of_the_laptop(desk: Desk) -> None:
    made = desk.json("keys", "create", "--scope", "read", "--store", "Team notes", "--name", "mine")
    assert (made["scope"], made["stores"]) == ("read", [desk.store])
    assert desk.ok("ls", desk.store, "--api-key", made["api_key"]) == ""
    assert desk.json("keys", "list")[0]["name"] == "mine"
    assert desk.json("keys", "revoke", made["key_id"])[0]["confirmed"] is True
    assert desk.run("ls", desk.store, "--api-key", made["api_key"])[0] == Exit.KEY


def test_a_deployment_that_is_named_is_asked_as_an_operator_does(desk: Desk) -> None:
    here = "http://127.0.0.1:8377"
    assert laptop_keys.is_meant(here, None, aws=False)
    assert not laptop_keys.is_meant(here, None, aws=True)
    assert not laptop_keys.is_meant(here, "us-east-1", aws=False)
    assert not laptop_keys.is_meant("https://memory.example.com", None, aws=False)
    assert not laptop_keys.is_meant(None, None, aws=False), "no server was ever started here"
