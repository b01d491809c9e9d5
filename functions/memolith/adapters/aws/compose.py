"""One region put together on AWS: what a function does once at its start, and a command before its work."""

from __future__ import annotations

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.index import DynamoIndex
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.objects import S3Objects
from memolith.adapters.aws.peers import LambdaPeers
from memolith.adapters.layered.former import WithoutFormerRegions
from memolith.adapters.layered.translated import translated
from memolith.adapters.system.clock import SystemClock
from memolith.adapters.system.parallel import ThreadParallel
from memolith.adapters.system.randomness import SystemRandomness
from memolith.app.kernel.region import Region
from memolith.core.limits import CONTROL_AGE_US, ERASE_DELAY_DAYS_DEFAULT, MEMORIES_PER_STORE_DEFAULT
from memolith.core.retention import DAY_US
from memolith.ports.metrics import Metrics


def region_on_aws(
    clients: Clients,
    deployment: Deployment,
    metrics: Metrics,
    memories_per_store: int = MEMORIES_PER_STORE_DEFAULT,
    erase_delay_days: int = ERASE_DELAY_DAYS_DEFAULT,
) -> Region:
    """Make the region's ports on S3, DynamoDB and Lambda, with the machine's clock and randomness. Calls nothing."""
    clock, randomness = SystemClock(), SystemRandomness()
    return translated(
        Region(
            name=deployment.region,
            regions=deployment.regions,
            former=deployment.former,
            objects=WithoutFormerRegions(S3Objects(clients, deployment), deployment.former),
            index=DynamoIndex(clients, deployment, clock, randomness),
            clock=clock,
            randomness=randomness,
            metrics=metrics,
            peers=LambdaPeers(clients, deployment),
            parallel=ThreadParallel(),
            memories_per_store=memories_per_store,
            erase_delay_us=erase_delay_days * DAY_US,
            control_age_us=CONTROL_AGE_US,
        )
    )
