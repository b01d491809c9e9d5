"""The targets' port, on each of its adapters; Secrets Manager's over boto3 and moto."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from botocore.exceptions import ClientError

from memolith.adapters.aws.targets import SecretsManagerTargets
from memolith.adapters.memory import ManualClock, MemoryTargets
from memolith.ports.errors import Unavailable
from memolith.ports.targets import Target, Targets
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto

NOTES = Target("memstore_useast1_01kb0000000000000000000000", "sk-memolith-a")
BOARD = Target("memstore_useast1_01kb0000000000000000000001", "st-memolith-b")


@dataclass(frozen=True, slots=True)
class World:
    """Targets, a way to set them up, and a clock that stands still."""

    targets: Targets
    set_up: Callable[[dict[str, Target]], None]
    clock: ManualClock
    break_it: Callable[[], None]


@pytest.fixture(params=["memory", "secrets manager"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    clock = ManualClock()
    if request.param == "memory":
        memory = MemoryTargets()
        yield World(memory, memory.known.update, clock, lambda: setattr(memory, "unavailable", True))
        return
    with locked_moto() as clients:
        client = clients.secrets(HOME)

        def put(text: str) -> None:
            if "SecretList" in (listed := client.list_secrets()) and listed["SecretList"]:
                client.put_secret_value(SecretId=DEPLOYMENT.gateway_secret, SecretString=text)
            else:
                client.create_secret(Name=DEPLOYMENT.gateway_secret, SecretString=text)

        def set_up(targets: dict[str, Target]) -> None:
            fields = {n: {"memory_store_id": one.memory_store_id, "token": one.token} for n, one in targets.items()}
            put(json.dumps(fields))

        yield World(SecretsManagerTargets(clients, DEPLOYMENT, clock), set_up, clock, lambda: put('["sk-memolith-a"]'))


def test_where_nobody_set_up_any_there_are_none(world: World) -> None:
    assert world.targets.find("notes") is None


def test_each_target_is_found_by_its_name(world: World) -> None:
    world.set_up({"notes": NOTES, "board": BOARD})
    assert world.targets.find("notes") == NOTES
    assert world.targets.find("board") == BOARD
    assert world.targets.find("Notes") is None


def test_one_that_is_new_is_found_within_ten_seconds(world: World) -> None:
    world.set_up({"notes": NOTES})
    assert world.targets.find("board") is None
    world.set_up({"notes": NOTES, "board": BOARD})
    world.clock.advance(10.1)
    assert world.targets.find("board") == BOARD


def test_what_cannot_be_read_is_unavailable_and_not_quoted(world: World) -> None:
    world.break_it()
    with pytest.raises(Unavailable) as refused:
        world.targets.find("notes")
    assert "sk-memolith" not in str(refused.value)


def test_a_refusal_says_that_the_secret_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS refuses a role that may read ``name-??????`` where it would say to others that there is no secret."""
    with locked_moto() as clients:

        def refuse(**_: object) -> None:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "GetSecretValue")

        monkeypatch.setattr(clients.secrets(HOME), "get_secret_value", refuse)
        with pytest.raises(Unavailable, match=f"{DEPLOYMENT.gateway_secret} is not there, or may not be read"):
            SecretsManagerTargets(clients, DEPLOYMENT, ManualClock()).find("notes")


def test_a_token_is_not_shown_where_a_target_is_printed() -> None:
    assert "sk-memolith-a" not in repr(NOTES)
