"""A region's own parts: it stands alone, whatever the other regions do."""

from __future__ import annotations

from aws_cdk import CfnOutput, Environment, Stack
from constructs import Construct

from infra.constructs.alarms import RegionAlarms
from infra.constructs.api import RegionApi
from infra.constructs.bucket import RegionBucket
from infra.constructs.dashboard import RegionDashboard
from infra.constructs.first_region import FirstRegion
from infra.constructs.function_urls import FunctionUrls
from infra.constructs.functions.dreamer import SHAPE as DREAMER
from infra.constructs.functions.indexer import SHAPE as INDEXER
from infra.constructs.functions.packer import SHAPE as PACKER
from infra.constructs.functions.region import RegionFunctions
from infra.constructs.functions.scanner import SHAPE as SCANNER
from infra.constructs.queues import RegionQueues
from infra.constructs.rollout import GradualRollout
from infra.constructs.routing import RegionRouting
from infra.constructs.sealing import SealingKey
from infra.constructs.signing import SigningSecrets
from infra.constructs.tables import RegionTables
from infra.deployment import Deployment


class BaseStack(Stack):
    """``{prefix}-base-{region}``: bucket, queues, tables, functions, API, alarms, dashboard."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str) -> None:
        """Compose the region."""
        super().__init__(
            scope,
            f"{deployment.prefix}-base-{region}",
            env=Environment(account=deployment.account, region=region),
            description=f"Memolith {deployment.stage}: bucket, index and functions of {region}",
        )
        first = FirstRegion(self, deployment, region)
        queues = RegionQueues(
            self,
            deployment,
            region,
            indexer_timeout=INDEXER.timeout,
            scanner_timeout=SCANNER.timeout,
            packer_timeout=PACKER.timeout,
            dreamer_timeout=DREAMER.timeout,
        )
        bucket = RegionBucket(
            self, deployment, region, notified_arn=queues.index.queue.queue_arn, notified_ready=queues.index_policy
        )
        RegionTables(self, deployment, region)
        SealingKey(self, deployment)
        functions = RegionFunctions(self, deployment, region, queues)
        if region == deployment.regions[0]:
            SigningSecrets(self, deployment, region, layers=functions.layers).node.add_dependency(first.checked)
        asked = {
            "reader": functions.reader.invoked,
            "writer": functions.writer.invoked,
            "mcp": functions.mcp.invoked,
            "keys": functions.keys.invoked,
        }
        api = RegionApi(self, deployment, **asked) if deployment.front_door == "http_api" else None
        front_door = FunctionUrls(self, asked) if api is None else api
        if api is not None:
            CfnOutput(self, "ApiUrl", value=api.url)
            CfnOutput(self, "ApiId", value=api.id)
        if deployment.routing is not None and api is not None:
            RegionRouting(self, deployment.routing, region, api=api)
        alarms = RegionAlarms(self, deployment, region, queues=queues, functions=functions, api=front_door)
        if deployment.rollout == "gradual":
            GradualRollout(self, deployment, region, functions=functions, alarms=alarms)
        if deployment.monitoring == "full":
            RegionDashboard(self, deployment, region, queues=queues, functions=functions, api=api)
        CfnOutput(self, "BucketName", value=bucket.bucket.bucket_name)
