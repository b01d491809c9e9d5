"""Does what the stacks' custom resources do, for an emulator whose CloudFormation makes none.

LocalStack's free edition says ``CREATE_COMPLETE`` of a custom resource and calls no function. Their work can be
repeated and leaves alone what is there, so it is done here after every deployment, by the same code
(`infra.custom_resources`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from infra.custom_resources import control_row, first_region, replication, signing_keys
from scripts.local_cloud.aws import Clients
from scripts.local_cloud.environment import ACCOUNT

Properties = Mapping[str, Any]
Act = Callable[[Clients, str, Properties], None]
"""(clients, region, properties)"""


def _first_rows(clients: Clients, _region: str, properties: Properties) -> None:
    control_row.apply(clients.s3, clients.dynamodb, "Create", properties)


def _first_key(clients: Clients, region: str, properties: Properties) -> None:
    secrets = clients.client("secretsmanager", region)
    signing_keys.apply(secrets, signing_keys.generate, "Create", properties)


def _rules(clients: Clients, region: str, properties: Properties) -> None:
    replication.apply(clients.s3(region), "Create", properties)


def _first_region(_clients: Clients, _region: str, properties: Properties) -> None:
    first_region.check("Create", properties, properties["First"])


ACTS: Mapping[str, Act] = {
    "Custom::MemolithFirstRegion": _first_region,
    "Custom::MemolithFirstSigningKey": _first_key,
    "Custom::MemolithFirstControlRow": _first_rows,
    "Custom::MemolithReplication": _rules,
}
"""What each kind does. A kind that is not here is a KeyError, so that none is left out."""


def carry_out(clients: Clients, assembly: Path) -> int:
    """Do the work of every custom resource of a cloud assembly, base stacks first; return how many there are."""
    done = 0
    for region, template in _templates(assembly):
        for made in template["Resources"].values():
            if made["Type"].startswith("Custom::"):
                ACTS[made["Type"]](clients, region, _resolved(made["Properties"], template["Resources"]))
                done += 1
    return done


def _templates(assembly: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return (region, template) of every stack; a base stack's name comes before a mesh stack's."""
    manifest = json.loads((assembly / "manifest.json").read_text())
    stacks = {name: made for name, made in manifest["artifacts"].items() if made["type"] == "aws:cloudformation:stack"}
    return [
        (
            made["environment"].rsplit("/", 1)[-1],
            json.loads((assembly / made["properties"]["templateFile"]).read_text()),
        )
        for _, made in sorted(stacks.items())
    ]


def _resolved(value: Any, resources: Mapping[str, Any]) -> Any:
    """Replace the one kind of reference that matters here: a role's ARN, by the role's name."""
    if isinstance(value, Mapping):
        reference = value.get("Fn::GetAtt")
        if isinstance(reference, list) and reference[1:] == ["Arn"]:
            role = resources[reference[0]]["Properties"].get("RoleName")
            return f"arn:aws:iam::{ACCOUNT}:role/{role}"
        return {key: _resolved(inner, resources) for key, inner in value.items()}
    if isinstance(value, list):
        return [_resolved(inner, resources) for inner in value]
    return value
