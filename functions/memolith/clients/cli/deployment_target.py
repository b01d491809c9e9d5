"""Which deployment a command speaks to: the local cloud of this folder, or the one that ``cdk.json`` describes.

boto3 is imported when a deployment is spoken to and not before, so that every command shows its help without it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memolith.adapters.aws.names import Deployment
from memolith.clients.cli.api_address import DEV_FILE, DEV_FILE_INVALID
from memolith.core import ids
from memolith.core.errors import InvalidRequest

if TYPE_CHECKING:
    from memolith.adapters.aws.clients import Clients
    from memolith.adapters.aws.signing import SigningSecrets
    from memolith.app.kernel.region import Region
    from memolith.ports.dead_letters import DeadLetters
    from memolith.ports.index import Tables
    from memolith.ports.peers import Peers
    from memolith.ports.queue import Queue

LOCAL_ACCOUNT = "000000000000"

FUNCTION_ALIAS = "live"
"""What a deployment on AWS has functions invoked by (`infra.deployment.ALIAS`)."""

Aws = Annotated[bool, typer.Option("--aws", help="Use AWS as cdk.json describes it, even if a local cloud runs here.")]
ROOT_HELP = """A laptop's folder, as `memolith serve --root` has it; by default MEMOLITH_ROOT or ~/.memolith where
that was served, and neither a local cloud runs here nor --aws or another option names a deployment."""
Root = Annotated[Path | None, typer.Option("--root", help=ROOT_HELP)]


@dataclass(frozen=True, slots=True)
class Target:
    """Clients for a deployment, and its names as seen from each of its regions."""

    clients: Clients
    stage: str
    account: str
    regions: tuple[str, ...]
    alias: str | None = None
    former: tuple[str, ...] = ()

    def deployment(self, region: str | None = None) -> Deployment:
        """Return names as seen from `region`, by default the first. Raises InvalidRequest for one it does not have."""
        chosen = region or self.regions[0]
        if chosen not in self.regions:
            raise InvalidRequest("--region", f"{chosen} is not one of {', '.join(self.regions)}")
        return Deployment(self.stage, self.account, self.regions, chosen, alias=self.alias, former=self.former)

    def including(self, region: str) -> Target:
        """Return the target with `region` among its regions, also a former one, whose stacks may still be there."""
        if region not in self.former:
            return self
        former = tuple(other for other in self.former if other != region)
        return replace(self, regions=(*self.regions, region), former=former)

    def site(self, region: str | None = None) -> Region:
        """Return one region, by default the first, as the use cases take it. Raises InvalidRequest."""
        from memolith.adapters.aws.compose import region_on_aws
        from memolith.adapters.memory import RecordingMetrics

        return region_on_aws(self.clients, self.deployment(region), RecordingMetrics())

    def peers(self, region: str) -> Peers:
        """Return what invokes the functions of a region by name."""
        from memolith.adapters.aws.peers import LambdaPeers

        return LambdaPeers(self.clients, self.deployment(region))

    def tables(self, region: str) -> Tables:
        """Return what makes and drops a region's tables."""
        from memolith.adapters.aws.tables import DynamoTables
        from memolith.adapters.layered.translated import translated_tables
        from memolith.adapters.system import SystemClock

        return translated_tables(DynamoTables(self.clients, self.deployment(region), SystemClock()), region)

    def queue(self, region: str, name: str) -> Queue:
        """Return one of a region's queues, such as that which its rebuild works through."""
        from memolith.adapters.aws.queue import SqsQueue
        from memolith.adapters.layered.translated import translated_queue
        from memolith.adapters.system import SystemClock, SystemRandomness

        deployment = self.deployment(region)
        sqs = SqsQueue(self.clients, deployment, deployment.queue(name), SystemClock(), SystemRandomness())
        return translated_queue(sqs, region)

    def dead_letters(self, region: str, queue: str) -> DeadLetters:
        """Return the dead letters of one of a region's queues."""
        from memolith.adapters.aws.dead_letters import SqsDeadLetters
        from memolith.adapters.layered.translated import translated_dead_letters
        from memolith.adapters.system import SystemClock, SystemRandomness

        sqs = SqsDeadLetters(self.clients, self.deployment(region), queue, SystemClock(), SystemRandomness())
        return translated_dead_letters(sqs, region)

    def signing_secrets(self) -> SigningSecrets:
        """Return the keys that sign the tokens of sessions."""
        from memolith.adapters.aws.signing import SigningSecrets

        return SigningSecrets(self.clients, self.deployment())


def find_target(aws: bool) -> Target:
    """Find the local cloud if one runs in this folder and `aws` is off, else what ``cdk.json`` describes.

    Raises:
        InvalidRequest: there is neither, or the local cloud's file is not what `memolith dev up` writes.
    """
    if DEV_FILE.exists() and not aws:
        from memolith.adapters.aws.clients import local_clients

        try:
            dev = json.loads(DEV_FILE.read_text())
            endpoint, regions = str(dev["endpoint"]), tuple(dev["regions"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidRequest("", DEV_FILE_INVALID) from error
        return Target(local_clients(endpoint), "dev", LOCAL_ACCOUNT, regions)
    record = _record()
    from memolith.adapters.aws.account import caller_account
    from memolith.adapters.aws.clients import Clients

    clients = Clients()
    account = record.get("account") or caller_account(clients, record["regions"])
    alias = None if record.get("rollout") == "unversioned" else FUNCTION_ALIAS
    return Target(
        clients, record["stage"], account, tuple(record["regions"]), alias, tuple(record.get("former_regions", ()))
    )


def require_store_id(store: str, option: str) -> None:
    """Raise InvalidRequest for what is no store's id: a command that asks no API knows no names, and finds nothing."""
    if ids.STORE.fullmatch(store) is None:
        raise InvalidRequest(option, f"{store} is not the id of a store (memstore_…); `memolith stores list` has it")


def _record() -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(Path("cdk.json").read_text())["context"]["memolith"]
    except (OSError, KeyError, ValueError) as error:
        raise InvalidRequest(
            "",
            "no deployment here: run this in Memolith's checkout, or start `memolith dev up`; "
            "`audit` and `repair` take a laptop's folder as --root FOLDER",
        ) from error
    return record
