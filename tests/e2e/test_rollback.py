"""A release whose writer fails is taken back, by what `docs/operations/upgrading.md` tells an operator to run.

The local cloud's functions have no versions, since its emulator has no CodeDeploy. So one function, the writer of the
first region, is given here what every function has on AWS: versions, the alias `live`, and callers who go by the alias.
What stands in for AWS: the new version gets all the calls at once, where CodeDeploy gives it a tenth for 15 minutes;
and the test runs `update-alias`, where an alarm has CodeDeploy run it (`tests/infra/test_rollout.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from scripts.local_cloud.aws import Clients
from tests.e2e.conftest import knows, until

pytestmark = pytest.mark.e2e

ALIAS = "live"


class Writer:
    """The writer's function in one region, its versions, its alias, and the API's way to it."""

    def __init__(self, dev: dict[str, Any], region: str) -> None:
        aws = Clients(dev["endpoint"])
        self._functions = aws.functions(region)
        self._api = aws.client("apigatewayv2", region)
        self._name = dev["regions"][region]["functions"]["writer"]
        found = self._functions.get_function_configuration(FunctionName=self._name)
        self._arn, self._variables = found["FunctionArn"], found["Environment"]["Variables"]
        self._published: list[str] = []
        self._ways = [
            (api["ApiId"], way["IntegrationId"], way["IntegrationUri"])
            for api in self._api.get_apis()["Items"]
            for way in self._api.get_integrations(ApiId=api["ApiId"])["Items"]
            if self._arn in way["IntegrationUri"]
        ]
        assert self._ways, f"no way of the API leads to {self._arn}"

    def publish(self) -> str:
        """Make a version of the function as it is now; its number."""
        number: str = self._functions.publish_version(FunctionName=self._name)["Version"]
        self._published.append(number)
        return number

    def set(self, **variables: str) -> None:
        """Change settings of what is published next."""
        given = {**self._variables, **variables}
        self._functions.update_function_configuration(FunctionName=self._name, Environment={"Variables": given})
        self._functions.get_waiter("function_updated_v2").wait(FunctionName=self._name)

    def be_called_by_the_alias(self, number: str) -> None:
        self._functions.create_alias(FunctionName=self._name, Name=ALIAS, FunctionVersion=number)
        self._lead_to(f"{self._arn}:{ALIAS}")

    def point_alias_at(self, number: str) -> None:
        """``aws lambda update-alias --function-name … --name live --function-version NUMBER``."""
        self._functions.update_alias(FunctionName=self._name, Name=ALIAS, FunctionVersion=number)

    def served(self) -> str:
        """Return the number of the version that the alias points at."""
        return str(self._functions.get_alias(FunctionName=self._name, Name=ALIAS)["FunctionVersion"])

    def versions(self) -> list[str]:
        """``aws lambda list-versions-by-function``: the numbers, in order."""
        listed = self._functions.list_versions_by_function(FunctionName=self._name)["Versions"]
        return [one["Version"] for one in listed if one["Version"] != "$LATEST"]

    def be_as_before(self) -> None:
        self.set()
        self._lead_to(self._arn)
        self._functions.delete_alias(FunctionName=self._name, Name=ALIAS)
        for number in self._published:
            self._functions.delete_function(FunctionName=self._name, Qualifier=number)

    def _lead_to(self, arn: str) -> None:
        for api, way, uri in self._ways:
            self._api.update_integration(ApiId=api, IntegrationId=way, IntegrationUri=uri.replace(self._arn, arn))


class Agent(threading.Thread):
    """Goes on writing a memory until it is told to stop, whatever it is answered, and keeps what was acknowledged."""

    def __init__(self, sdk: Anthropic, store_id: str, memory_id: str) -> None:
        super().__init__(daemon=True)
        self._write = partial(sdk.beta.memory_stores.memories.update, memory_id, memory_store_id=store_id)
        self.acknowledged: list[str] = []
        self.failed: list[int] = []
        self._over = threading.Event()

    def run(self) -> None:
        for number in count(1):
            try:
                self._write(content=f"edit {number}")
                self.acknowledged.append(f"edit {number}")
            except anthropic.APIStatusError as error:
                self.failed.append(error.status_code)
            except anthropic.APIConnectionError:
                pass  # nobody was told of an outcome
            if self._over.wait(0.05):
                return

    def stop(self) -> None:
        self._over.set()
        self.join(60)


@pytest.fixture
def writer(dev: dict[str, Any], regions: tuple[str, ...]) -> Iterator[Writer]:
    """The first region's writer, whose first version serves by its alias."""
    found = Writer(dev, regions[0])
    try:
        found.be_called_by_the_alias(found.publish())
        yield found
    finally:
        found.be_as_before()


def holds(sdk: Anthropic, store_id: str, memory_id: str, acknowledged: list[str]) -> bool:
    """Tell whether a region has all that was acknowledged, in that order, in a memory's history."""
    if not knows(sdk, store_id):
        return False
    listed = sdk.beta.memory_stores.memory_versions.list(store_id, memory_id=memory_id, view="full", limit=100)
    return [one.content for one in listed if one.content in acknowledged] == acknowledged[::-1]


def test_a_release_that_fails_every_call_is_rolled_back_and_loses_nothing_that_was_acknowledged(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, writer: Writer
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    memory = home.beta.memory_stores.memories.create(store_id, path="/plan.md", content="created")
    good = writer.served()
    agent = Agent(home, store_id, memory.id)
    agent.start()
    try:
        until(lambda: agent.acknowledged, 60)

        writer.set(MEMOLITH_STAGE="nobodys")
        bad = writer.publish()
        writer.point_alias_at(bad)
        until(lambda: len(agent.failed) >= 3, 60)

        *_, former, newest = writer.versions()
        assert (former, newest) == (good, bad)
        writer.point_alias_at(former)
        acknowledged = len(agent.acknowledged)
        until(lambda: len(agent.acknowledged) >= acknowledged + 3, 60)
    finally:
        agent.stop()
    assert writer.served() == good
    assert min(agent.failed) >= 500
    for client in (home, away):
        until(partial(holds, client, store_id, memory.id, agent.acknowledged))
