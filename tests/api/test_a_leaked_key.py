"""`docs/operations/keys.md`, "A key has leaked", from the leak to the end: two regions, the SDK, an operator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anthropic
import httpx2
import pytest

from memolith.adapters.memory import ManualClock, SeededRandomness
from memolith.wire.http import HttpApi
from memolith.wire.rpc import indexer_calls, keys_calls
from tests.api.harness import BASE_URL
from tests.api.shapes.answers import check_answer
from tests.api.transport import Gateway
from tests.support.cloud import WORKSPACE, Cloud

HERE, THERE = "us-east-1", "eu-west-1"


class Deployment:
    """Two regions with the wire in front, and an operator who may invoke their functions."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cloud = Cloud((HERE, THERE), clock=self.clock)
        self.gateways = {
            region: Gateway(self._answering(HttpApi(site.memolith, self.clock, SeededRandomness(), self.cloud.metrics)))
            for region, site in self.cloud.sites.items()
        }

    def _answering(self, api: HttpApi) -> Any:
        def answer(event: Mapping[str, Any]) -> dict[str, Any]:
            self.clock.advance(0.001)
            given = api.answer(event)
            check_answer(given)
            return given

        return answer

    def client(self, text: str, region: str = HERE) -> anthropic.Anthropic:
        return anthropic.Anthropic(
            api_key=text, base_url=BASE_URL, http_client=httpx2.Client(transport=self.gateways[region]), max_retries=0
        )

    def operate(self, call: str, **fields: Any) -> Any:
        """As `memolith keys` does: the function `keys` is invoked, and answers JSON."""
        payload = json.loads(json.dumps({"call": call, "workspace_id": WORKSPACE, **fields}))
        return json.loads(json.dumps(keys_calls(self.cloud.sites[HERE].memolith.api_keys)(payload)))

    def confirm(self, key: str, region: str) -> Any:
        """As `memolith keys revoke` has every region confirm."""
        return indexer_calls(self.cloud.sites[region].indexing)({"call": "fold_key", "key": key})

    def opens(self, text: str, store: str, region: str) -> bool:
        try:
            list(self.client(text, region).beta.memory_stores.memories.list(store))
        except anthropic.AuthenticationError:
            return False
        return True


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


def _begin(client: anthropic.Anthropic, store: str, title: str) -> tuple[str, str]:
    session = client.beta.sessions.create(
        agent="agent_1",
        environment_id="env_1",
        title=title,
        resources=[{"type": "memory_store", "memory_store_id": store}],
    )
    assert session.model_extra is not None
    return session.id, session.model_extra["token"]


@pytest.mark.parametrize("confirmed", [True, False], ids=["every region confirms", "the revocation is replicated"])
def test_whoever_holds_a_leaked_key_is_out_everywhere_and_what_it_did_is_found(
    deployment: Deployment, confirmed: bool
) -> None:
    admin = deployment.client(deployment.cloud.key())
    store = admin.beta.memory_stores.create(name="notes").id
    leaked = deployment.operate("keys.create", name="agent", scope="write")
    deployment.cloud.deliver()

    thief = deployment.client(leaked["api_key"])
    stolen, stolen_token = _begin(thief, store, "made with the leaked key")
    elsewhere, elsewhere_token = _begin(deployment.client(leaked["api_key"], THERE), store, "and in the other region")
    honest, honest_token = _begin(admin, store, "somebody else's")
    deployment.client(stolen_token).beta.memory_stores.memories.create(store, path="/planted", content="x")
    deployment.cloud.deliver()
    tokens = {"stolen": stolen_token, "elsewhere": elsewhere_token, "honest": honest_token}
    for region in (HERE, THERE):
        assert all(deployment.opens(text, store, region) for text in (leaked["api_key"], *tokens.values()))

    # 1. revoke the key, until every region has confirmed
    revoked = deployment.operate("keys.revoke", key_id=leaked["key_id"])
    record = revoked["record"]
    assert not deployment.opens(leaked["api_key"], store, HERE)
    if confirmed:
        assert all(deployment.confirm(revoked["key"], region)["confirmed"] for region in (HERE, THERE))
    else:
        assert deployment.opens(tokens["stolen"], store, THERE), "the revocation is still under way"
        deployment.cloud.deliver()
    for region in (HERE, THERE):
        assert not deployment.opens(leaked["api_key"], store, region)
        open_still = [name for name, text in tokens.items() if deployment.opens(text, store, region)]
        assert open_still == ["honest"]
    deployment.cloud.deliver()

    # 2. which sessions it made, and what they wrote
    for region in (HERE, THERE):
        listing = deployment.client(deployment.cloud.key(), region).beta.sessions
        made = list(listing.list(extra_query={"api_key_id": leaked["key_id"]}))
        assert [one.title for one in made] == ["and in the other region", "made with the leaked key"]
        everyones = {one.id: one.model_extra or {} for one in listing.list(include_archived=True)}
        assert set(everyones) == {stolen, elsewhere, honest}
        assert everyones[stolen]["created_by"] == {"type": "api_actor", "api_key_id": leaked["key_id"]}
    versions = list(admin.get(f"/v1/memory_stores/{store}/memory_versions?session_id={stolen}", cast_to=object)["data"])  # type: ignore[index]  # JSON has no type
    assert [version["path"] for version in versions] == ["/planted"]

    # 3. end what should not go on, also sessions of other keys
    for session in (stolen, elsewhere, honest):
        assert admin.beta.sessions.delete(session).type == "session_deleted"
    deployment.cloud.deliver()
    for region in (HERE, THERE):
        assert not any(deployment.opens(text, store, region) for text in tokens.values())
        assert list(deployment.client(deployment.cloud.key(), region).beta.sessions.list()) == []
    (key,) = [one for one in deployment.operate("keys.list")["keys"] if one["key_id"] == leaked["key_id"]]
    assert key["revoked_at"] == record["revoked_at"]
