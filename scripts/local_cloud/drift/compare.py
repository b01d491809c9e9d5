"""Compare the synthesized app with what stands at the endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.drift.differences import fits, resolved
from scripts.local_cloud.drift.live import READERS
from scripts.local_cloud.environment import ACCOUNT


@dataclass(frozen=True, slots=True)
class Difference:
    """A property of a kind of resource that is not as asked for, and how many resources show it.

    Attributes:
        kind: the resource type.
        asked: the value in the template, as JSON.
        there: the value at the API, as JSON; ``null`` if it is missing.
        resources: logical ids with their region.
    """

    kind: str
    name: str
    asked: str
    there: str
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it: the differences, how many resources were compared, and the kinds that were not."""

    differences: tuple[Difference, ...]
    compared: int
    not_compared: tuple[str, ...]


def compare(clients: Clients, assembly: Path) -> Comparison:
    """Compare every stack of a cloud assembly. One to six requests a resource, four at a time.

    A resource that the API refuses to describe is a difference of its own.
    """
    resources = [resource for stack in _stacks(assembly) for resource in _resources(clients, *stack)]
    known = [resource for resource in resources if resource.kind in READERS]
    with ThreadPoolExecutor(max_workers=4) as pool:
        found = list(pool.map(lambda resource: _differences(clients, resource), known))
    unknown = sorted({resource.kind for resource in resources} - READERS.keys())
    merged = _merged([difference for differences in found for difference in differences])
    return Comparison(tuple(merged), len(known), tuple(unknown))


@dataclass(frozen=True, slots=True)
class _Resource:
    region: str
    logical_id: str
    physical_id: str
    kind: str
    properties: Mapping[str, Any]


def _stacks(assembly: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (stack name, region, template) of every stack."""
    manifest = json.loads((assembly / "manifest.json").read_text())
    for name, artifact in manifest["artifacts"].items():
        if artifact["type"] == "aws:cloudformation:stack":
            template = json.loads((assembly / artifact["properties"]["templateFile"]).read_text())
            stack = artifact["properties"].get("stackName", name)
            yield stack, artifact["environment"].rsplit("/", 1)[-1], template


def _resources(clients: Clients, stack: str, region: str, template: Mapping[str, Any]) -> Iterator[_Resource]:
    pages = clients.cloudformation(region).get_paginator("list_stack_resources").paginate(StackName=stack)
    physical = {
        summary["LogicalResourceId"]: summary.get("PhysicalResourceId", "")
        for page in pages
        for summary in page["StackResourceSummaries"]
    }
    known = {**physical, "AWS::Region": region, "AWS::AccountId": ACCOUNT, "AWS::Partition": "aws"}
    for logical_id, resource in template["Resources"].items():
        if logical_id in physical:
            properties = resolved(resource.get("Properties", {}), known)
            yield _Resource(region, logical_id, physical[logical_id], resource["Type"], properties)


def _differences(clients: Clients, resource: _Resource) -> list[Difference]:
    place = f"{resource.region}/{resource.logical_id}"
    try:
        there = READERS[resource.kind](clients, resource.region, resource.physical_id, resource.properties)
    except ClientError as error:
        return [Difference(resource.kind, "(the resource)", "to exist", str(error), (place,))]
    return [
        Difference(resource.kind, name, _shown(resource.properties[name]), _shown(value), (place,))
        for name, value in there.items()
        if name in resource.properties and not fits(resource.properties[name], value)
    ]


def _merged(differences: list[Difference]) -> list[Difference]:
    """Merge the same difference of several resources into one."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for one in differences:
        groups.setdefault((one.kind, one.name, one.asked, one.there), []).extend(one.resources)
    return [Difference(*key, tuple(resources)) for key, resources in sorted(groups.items())]


def _shown(value: Any) -> str:
    return json.dumps(value, default=repr, ensure_ascii=False)
