"""What joins a region to the others. Deployed once every region's base stack stands; that of the first region last."""

from __future__ import annotations

from aws_cdk import Environment, Stack
from constructs import Construct

from infra.constructs.control import FirstControlRows
from infra.constructs.replication import Replication
from infra.deployment import Deployment


class MeshStack(Stack):
    """``{prefix}-mesh-{region}``: replication to every peer; in the first region also the first row of every region."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str) -> None:
        """Compose the joints; a deployment of one region has nothing to replicate."""
        super().__init__(
            scope,
            f"{deployment.prefix}-mesh-{region}",
            env=Environment(account=deployment.account, region=region),
            description=f"Memolith {deployment.stage}: what joins {region} to the other regions",
        )
        replication = Replication(self, deployment, region) if deployment.peers(region) else None
        if region == deployment.regions[0]:
            rows = FirstControlRows(self, deployment)
            if replication is not None:
                rows.node.add_dependency(replication)
