"""`docs/operations/keys.md`, "A key has leaked", on the deployment: its commands, its listings, its search of logs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from scripts.agents import client
from scripts.local_cloud.aws import Clients
from tests.e2e.conftest import ROOT, begin, until
from tests.laptop.processes import environment

pytestmark = pytest.mark.e2e

RUNBOOK = (ROOT / "docs" / "operations" / "keys.md").read_text()
[(SHOWN, ASKED)] = re.findall(r"^ *fields @timestamp, (.*)\n *\| filter (.*)$", RUNBOOK, re.MULTILINE)
"""What the runbook has CloudWatch Logs Insights show, and of which lines."""


def memolith(*words: str) -> Any:
    """Run a command as an operator of this deployment; its answer, as JSON."""
    command = [sys.executable, "-m", "memolith.clients.cli", *words, "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def opens(sdk: Anthropic, store_id: str) -> bool:
    try:
        sdk.beta.memory_stores.retrieve(store_id)
    except anthropic.AuthenticationError:
        return False
    return True


def tells(logs: Any, function: str, key_id: str, session_id: str, *did: tuple[str, str | None]) -> bool:
    """Tell whether a function's log has what was done with a key and a session: operations, by whose credentials.

    The lines are chosen as the runbook's query chooses them, because the emulator's Insights reads no fields.
    """
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}")
    lines = [json.loads(event["message"]) for page in pages for event in page["events"] if event["message"][0] == "{"]
    shown = [
        {name: line.get(name) for name in SHOWN.split(", ")}
        for line in lines
        if line.get("message") == "request" and (line.get("key_id") == key_id or line.get("session_id") == session_id)
    ]
    return set(did) <= {(line["operation"], line["session_id"]) for line in shown if line["status"] == "200"}


def test_the_runbook_for_a_leaked_key_shuts_its_holder_out_and_finds_what_it_did(
    sdk: dict[str, Anthropic], dev: dict[str, Any], regions: tuple[str, ...], store_id: str
) -> None:
    home, away = regions[:2]
    address = {region: dev["regions"][region]["api_url"] for region in regions}
    admin = ("--api-url", address[home], "--api-key", dev["api_key"])
    leaked = memolith("keys", "create", "--name", "leaked", "--scope", "write")
    thief = client(address[home], leaked["api_key"])
    stolen = begin(thief, {"memory_store_id": store_id})
    honest = begin(sdk[home], {"memory_store_id": store_id})
    planted = client(address[home], stolen["token"]).beta.memory_stores.memories.create(
        store_id, path="/planted.md", content="by whoever has the key"
    )
    held = [client(address[region], text) for region in regions for text in (leaked["api_key"], stolen["token"])]
    theirs = [partial(opens, one, store_id) for one in held]
    ours = [partial(opens, client(address[region], honest["token"]), store_id) for region in regions]
    until(lambda: all(opened() for opened in (*theirs, *ours)))
    client(address[away], stolen["token"]).beta.memory_stores.retrieve(store_id)

    # 1. revoke it, until every region has confirmed
    assert leaked["key_id"] in [one["key_id"] for one in memolith("keys", "list")]
    confirmed = memolith("keys", "revoke", leaked["key_id"])
    assert [(row["region"], row["confirmed"]) for row in confirmed] == [(region, True) for region in regions]
    assert [opened() for opened in theirs] == [False] * len(theirs)
    assert [opened() for opened in ours] == [True] * len(ours)

    # 2. another key for the caller
    other = memolith("keys", "create", "--name", "instead", "--scope", "write")
    assert opens(client(address[home], other["api_key"]), store_id)

    # 3. the sessions that it began; end what should not go on
    [made] = memolith("sessions", "list", "--all", "--key-id", leaked["key_id"], *admin)
    assert (made["id"], made["key_id"]) == (stolen["id"], leaked["key_id"])
    for session in (stolen["id"], honest["id"]):
        memolith("sessions", "end", session, *admin)
    until(lambda: not any(opened() for opened in ours))

    # 4. what it wrote
    wrote = sdk[home].beta.memory_stores.memory_versions.list(store_id, session_id=stolen["id"])
    assert [(one.memory_id, one.path) for one in wrote] == [(planted.id, "/planted.md")]

    # 5. what it did, by the logs of every region
    assert ASKED == 'message = "request" and (key_id = "KEY_ID" or session_id in ["SESSION", "SESSION"])'
    aws = Clients(dev["endpoint"])
    written = ("create_session", None), ("create_memory", stolen["id"])
    read = ("retrieve_store", None), ("retrieve_store", stolen["id"])
    for region, function, did in ((home, "writer", written), (home, "reader", read), (away, "reader", read)):
        logs, name = aws.client("logs", region), dev["regions"][region]["functions"][function]
        until(partial(tells, logs, name, leaked["key_id"], stolen["id"], *did))
