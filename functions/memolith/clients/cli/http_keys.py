"""API keys over HTTP, managed with an admin's key of their workspace: on a laptop, and at a deployment's address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from memolith.clients.api.client import ApiClient
from memolith.clients.cli.api_address import is_laptop_meant, is_this_machine
from memolith.clients.cli.api_client import connect, speaking
from memolith.clients.cli.output import say
from memolith.clients.cli.store_argument import store_called

PATH = "/v1/api_keys"


@dataclass(frozen=True, slots=True)
class Asked:
    """The key that is asked for; stores by id or name."""

    name: str
    scope: str
    expires_at: str | None
    stores: tuple[str, ...]
    holder: str | None
    requests_per_minute: int | None


@dataclass(frozen=True, slots=True)
class Caller:
    """The address and the key of who asks, as given; `workspace` if the command names one: the key has to be of it."""

    url: str | None
    key: str | None
    workspace: str | None

    def client(self) -> ApiClient:
        """Make the client. Raises InvalidRequest: no address or no key is known."""
        client = connect(self.url, self.key)
        if self.workspace is None:
            return client
        return ApiClient(client.http.with_headers({"anthropic-workspace-id": self.workspace}))


def is_meant(url: str | None, region: str | None, aws: bool) -> bool:
    """Tell whether a command is for an address: one is named, or nothing else is and this machine has served once.

    Otherwise it is an operator's, who invokes the deployment's function.
    """
    if aws or region is not None:
        return False
    return url is not None or is_laptop_meant()


def create(asked: Asked, caller: Caller, as_json: bool) -> None:
    """Create a key and print its text. Raises ApiFailed."""
    stores = [store_called(one, caller.url, caller.key) for one in asked.stores]
    body: dict[str, Any] = {"name": asked.name, "scope": asked.scope}
    limits = {
        "expires_at": asked.expires_at,
        "memory_store_ids": stores,
        "holder": asked.holder,
        "requests_per_minute": asked.requests_per_minute,
    }
    for name, value in limits.items():
        if value:
            body[name] = value
    with speaking():
        issued = caller.client().post(PATH, body)
    if as_json:
        print(json.dumps({**_row(issued), "api_key": issued["api_key"]}))
        return
    say(f"{issued['id']}  {issued['scope']}  {issued['name']}")
    print(issued["api_key"])
    say("Keep it: it is not shown again.")


def rows(caller: Caller) -> list[dict[str, Any]]:
    """List the keys, newest first. Raises ApiFailed."""
    with speaking():
        return [_row(one) for one in caller.client().rows(PATH)]


def revoke(key_id: str, caller: Caller) -> dict[str, Any]:
    """Revoke a key, and return the row that says so: of the region that answered, by its address. Raises ApiFailed."""
    client = caller.client()
    with speaking():
        client.post(f"{PATH}/{quote(key_id, safe='')}/revoke")
    here = is_this_machine(client.http.url)
    if not here:
        say("Other regions refuse it once the revocation has been replicated, or at once if you revoke it there, too.")
    return {"region": "laptop" if here else client.http.url, "confirmed": True, "reason": None}


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a key as `memolith keys list` shows one."""
    shown = ("name", "scope", "created_at", "revoked_at", "expires_at", "holder", "requests_per_minute")
    return {"key_id": one["id"], **{name: one[name] for name in shown}, "stores": one["memory_store_ids"]}
