"""Which deployment a command speaks to: the local cloud of this folder, or the one that ``cdk.json`` describes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from memolith.adapters.aws.account import caller_account
from memolith.adapters.aws.clients import Clients, local_clients
from memolith.adapters.aws.names import Deployment
from memolith.clients.cli.api_address import DEV_FILE
from memolith.core.errors import InvalidRequest

LOCAL_ACCOUNT = "000000000000"

Aws = Annotated[bool, typer.Option("--aws", help="Use AWS as cdk.json describes it, even if a local cloud runs here.")]


@dataclass(frozen=True, slots=True)
class Target:
    """Clients for a deployment, and its names as seen from each of its regions."""

    clients: Clients
    stage: str
    account: str
    regions: tuple[str, ...]

    def deployment(self, region: str | None = None) -> Deployment:
        """Return names as seen from `region`, by default the first. Raises InvalidRequest for one it does not have."""
        chosen = region or self.regions[0]
        if chosen not in self.regions:
            raise InvalidRequest("--region", f"{chosen} is not one of {', '.join(self.regions)}")
        return Deployment(self.stage, self.account, self.regions, chosen)


def find_target(aws: bool) -> Target:
    """Find the local cloud if one runs in this folder and `aws` is off, else what ``cdk.json`` describes.

    Raises:
        InvalidRequest: there is neither.
    """
    if DEV_FILE.exists() and not aws:
        dev = json.loads(DEV_FILE.read_text())
        clients = local_clients(dev["endpoint"])
        return Target(clients, "dev", LOCAL_ACCOUNT, tuple(dev["regions"]))
    record = _record()
    clients = Clients()
    account = record.get("account") or caller_account(clients, record["regions"][0])
    return Target(clients, record["stage"], account, tuple(record["regions"]))


def _record() -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(Path("cdk.json").read_text())["context"]["memolith"]
    except (OSError, KeyError, ValueError) as error:
        raise InvalidRequest(
            "", "no deployment here: run this in Memolith's checkout, or start `memolith dev up`"
        ) from error
    return record
