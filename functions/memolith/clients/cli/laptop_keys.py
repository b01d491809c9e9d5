"""API keys of this machine's own server, over HTTP; those of a deployment are made by its operator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memolith.clients.cli.api_address import DEV_FILE, is_this_machine
from memolith.clients.cli.api_client import connect, speaking
from memolith.clients.cli.output import say
from memolith.clients.cli.started_server import laptop_root
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


def is_meant(url: str | None, region: str | None, aws: bool) -> bool:
    """Tell whether a command is about this machine's server: it is named, or nothing else is and it was served once."""
    if aws or region is not None or DEV_FILE.exists():
        return False
    return (laptop_root() / "key").is_file() if url is None else is_this_machine(url)


def create(asked: Asked, url: str | None, key: str | None, as_json: bool) -> None:
    """Create a key and print its text. Raises ApiFailed."""
    stores = [store_called(one, url, key) for one in asked.stores]
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
        issued = connect(url, key).post(PATH, body)
    if as_json:
        print(json.dumps({**_row(issued), "api_key": issued["api_key"]}))
        return
    say(f"{issued['id']}  {issued['scope']}  {issued['name']}")
    print(issued["api_key"])
    say("Keep it: it is not shown again.")


def rows(url: str | None, key: str | None) -> list[dict[str, Any]]:
    """List the keys, newest first. Raises ApiFailed."""
    with speaking():
        return [_row(one) for one in connect(url, key).get(PATH)["data"]]


def revoke(key_id: str, url: str | None, key: str | None) -> dict[str, Any]:
    """Revoke a key, and return the row that says so. Raises ApiFailed."""
    with speaking():
        connect(url, key).post(f"{PATH}/{key_id}/revoke")
    return {"region": "laptop", "confirmed": True, "reason": None}


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a key as `memolith keys list` shows one."""
    shown = ("name", "scope", "created_at", "revoked_at", "expires_at", "holder", "requests_per_minute")
    return {"key_id": one["id"], **{name: one[name] for name in shown}, "stores": one["memory_store_ids"]}
