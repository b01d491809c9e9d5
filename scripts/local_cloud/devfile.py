"""``.memolith/dev.json``: what clients of the local cloud read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memolith.core.tables import TABLES
from scripts.local_cloud.aws import Clients
from scripts.local_cloud.deployment import Plan
from scripts.local_cloud.environment import ACCOUNT


class KeyNotMade(Exception):
    """The writer did not make an API key; the message says what it answered."""


def buckets(plan: Plan) -> dict[str, str]:
    """Map each region to the name of its bucket."""
    return {region: f"{plan.prefix}-{ACCOUNT}-{region}" for region in plan.regions}


def describe(clients: Clients, plan: Plan, *, by_path: bool, front_door: str | None = None) -> dict[str, Any]:
    """Describe every region's resources as clients address them. Five requests a region.

    Args:
        by_path: whether the endpoint is MiniStack, whose HTTP APIs answer below a path of the endpoint. Another
            endpoint's answer where its stacks say.
        front_door: where requests come in, if not at an HTTP API.
    """
    return {region: _region(clients, plan, region, by_path, front_door) for region in plan.regions}


def function_urls(clients: Clients, plan: Plan) -> dict[str, dict[str, str]]:
    """Map each region to the URLs of the functions that answer requests; empty where an HTTP API does."""
    found = {region: _outputs(clients, f"{plan.prefix}-base-{region}", region) for region in plan.regions}
    named = {"ReaderUrl": "reader", "WriterUrl": "writer", "McpUrl": "mcp", "KeysUrl": "keys"}
    return {
        region: {name: outputs[key] for key, name in named.items()}
        for region, outputs in found.items()
        if named.keys() <= outputs.keys()
    }


def _region(clients: Clients, plan: Plan, region: str, by_path: bool, front_door: str | None) -> dict[str, Any]:
    outputs = _outputs(clients, f"{plan.prefix}-base-{region}", region)
    sqs = clients.sqs(region)
    if front_door is not None:
        api_url = f"{front_door}/{region}"
    elif by_path:
        api_url = f"{plan.endpoint}/_aws/execute-api/{outputs['ApiId']}/$default"
    else:
        api_url = outputs["ApiUrl"]
    return {
        "api_url": api_url,
        "bucket": outputs["BucketName"],
        "queue_url": sqs.get_queue_url(QueueName=f"{plan.prefix}-index")["QueueUrl"],
        "dlq_url": sqs.get_queue_url(QueueName=f"{plan.prefix}-index-dlq")["QueueUrl"],
        "tables": _tables(clients, plan, region),
        "functions": _functions(clients, plan, region),
    }


def _outputs(clients: Clients, stack: str, region: str) -> dict[str, str]:
    [described] = clients.cloudformation(region).describe_stacks(StackName=stack)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}


def _tables(clients: Clients, plan: Plan, region: str) -> dict[str, str]:
    """Map short names to tables, those of the generation that the stack declares."""
    generations = plan.overrides.get("index_generation", {})
    return {table.name: table.physical_name(plan.prefix, int(generations.get(region, 1))) for table in TABLES}


def _functions(clients: Clients, plan: Plan, region: str) -> dict[str, str]:
    prefix = f"{plan.prefix}-"
    pages = clients.functions(region).get_paginator("list_functions").paginate()
    names = [function["FunctionName"] for page in pages for function in page["Functions"]]
    return {name.removeprefix(prefix): name for name in sorted(names) if name.startswith(prefix)}


def make_key(clients: Clients, plan: Plan) -> str:
    """Make an API key of the default workspace with every right, by the first region's keys function.

    Raises:
        KeyNotMade: the function raised, or answered without a key.
    """
    order = {"call": "keys.create", "workspace_id": "wrkspc_default", "name": "dev", "scope": "admin"}
    functions = clients.functions(plan.regions[0])
    answer = functions.invoke(FunctionName=f"{plan.prefix}-keys", Payload=json.dumps(order).encode())
    said = answer["Payload"].read().decode()
    result = json.loads(said or "null")
    if answer.get("FunctionError") or not isinstance(result, dict) or "api_key" not in result:
        raise KeyNotMade(f"keys in {plan.regions[0]} answered keys.create with: {said[:500]}")
    key: str = result["api_key"]
    return key


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Put the file in place at once: a reader finds the old one or the new one. Only its owner may read it."""
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(content, indent=2) + "\n")
    unfinished.chmod(0o600)
    unfinished.replace(path)


def read(path: Path) -> dict[str, Any] | None:
    """Read the file's content, or None if there is none."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return content
