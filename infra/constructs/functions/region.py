"""The functions of one region, and what wakes those that no request wakes."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundling import ROOT
from infra.constructs.functions import eraser, indexer, reader, reconciler, writer
from infra.constructs.functions.code import Layers
from infra.constructs.functions.function import Function, Shape
from infra.constructs.functions.grants import Grants
from infra.constructs.queues import RegionQueues
from infra.deployment import Deployment


class RegionFunctions(Construct):
    """Every function of one region. The reconciler is among them once it has a handler."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str, queues: RegionQueues) -> None:
        """Make the functions and join the indexer to its queues."""
        super().__init__(scope, "Functions")
        layers = Layers(self, deployment)
        grants = Grants(deployment, region)

        def make(shape: Shape, statements: list[iam.PolicyStatement]) -> Function:
            return Function(self, deployment, region, shape=shape, statements=statements, layers=layers)

        self.reader = make(reader.SHAPE, reader.statements(grants, deployment, region))
        self.writer = make(writer.SHAPE, writer.statements(grants, deployment, region))
        self.indexer = make(indexer.SHAPE, indexer.statements(grants, deployment, region))
        self.eraser = make(eraser.SHAPE, eraser.statements(grants))
        self.all = {"reader": self.reader, "writer": self.writer, "indexer": self.indexer, "eraser": self.eraser}
        if (ROOT / deployment.functions_path / "reconciler" / "handler.py").is_file():
            self.all["reconciler"] = make(reconciler.SHAPE, reconciler.statements(grants, deployment, region))
        for queue in queues.all:
            lambda_.EventSourceMapping(
                self,
                f"{queue.node.id}WakesIndexer",
                target=self.indexer.function,
                event_source_arn=queue.queue.queue_arn,
                batch_size=indexer.BATCH_SIZE,
                max_concurrency=deployment.limits.indexer_concurrency,
                report_batch_item_failures=True,
            )
