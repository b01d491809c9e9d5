"""``memolith keys`` over HTTP: of a laptop, and of a deployment whose address is given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memolith.clients.cli import http_keys
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


def test_an_address_is_asked_over_http_and_a_deployment_without_one_as_an_operator_does(desk: Desk) -> None:
    here = "http://127.0.0.1:8377"
    assert http_keys.is_meant(here, None, aws=False)
    assert not http_keys.is_meant(here, None, aws=True)
    assert not http_keys.is_meant(here, "us-east-1", aws=False)
    assert http_keys.is_meant("https://memory.example.com", None, aws=False)
    assert not http_keys.is_meant(None, None, aws=False), "no server was ever started here"


def test_a_workspace_that_is_not_the_keys_own_is_refused(desk: Desk) -> None:
    assert desk.json("keys", "list", "--workspace", "wrkspc_main")
    said = desk.fails(Exit.KEY, "keys", "create", "--workspace", "wrkspc_other")
    assert "another workspace" in said
