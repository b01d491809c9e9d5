"""The functions of one region, and what wakes those that no request wakes."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.constructs.functions import (
    dreamer,
    eraser,
    indexer,
    keys,
    mcp,
    packer,
    peerreader,
    peerwriter,
    reader,
    reconciler,
    scanner,
    tool,
    writer,
)
from infra.constructs.functions.code import Layers
from infra.constructs.functions.function import Function, Shape
from infra.constructs.functions.grants import Grants
from infra.constructs.functions.schedule import Schedule
from infra.constructs.queues import RegionQueues, WorkQueue
from infra.deployment import PACKER_CONCURRENCY, Deployment


class RegionFunctions(Construct):
    """Every function of one region."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str, queues: RegionQueues) -> None:
        """Make the functions and join the indexer and the scanner to their queues."""
        super().__init__(scope, "Functions")
        self.layers = layers = Layers(self, deployment)
        grants = Grants(deployment, region)
        self.all: dict[str, Function] = {}

        def make(
            shape: Shape, statements: list[iam.PolicyStatement], environment: Mapping[str, str] | None = None
        ) -> Function:
            made = self.all[shape.name] = Function(
                self, deployment, region, shape=shape, statements=statements, layers=layers, environment=environment
            )
            return made

        reranking, dreaming = reader.environment(deployment, region), dreamer.environment(deployment)

        self.reader = make(reader.SHAPE, reader.statements(grants, deployment, region), reranking)
        self.writer = make(writer.SHAPE, writer.statements(grants, deployment, region), dreaming)
        make(peerreader.SHAPE, peerreader.statements(grants, deployment, region), reranking)
        make(peerwriter.SHAPE, peerwriter.statements(grants, deployment, region))
        self.keys = make(keys.SHAPE, keys.statements(grants))
        self.indexer = make(indexer.SHAPE, indexer.statements(grants, region))
        self.eraser = make(eraser.SHAPE, eraser.statements(grants))
        eraser.schedule(self, deployment, self.eraser)
        self.scanner = make(
            scanner.SHAPE, scanner.statements(grants, deployment, region), scanner.environment(deployment, region)
        )
        self.packer = make(packer.SHAPE, packer.statements(grants, deployment, region))
        make(tool.SHAPE, tool.statements(grants, region))
        self.mcp = make(mcp.SHAPE, mcp.statements(grants, region))
        self.reconciler = make(reconciler.SHAPE, reconciler.statements(grants, deployment, region), dreaming)
        Schedule(self, deployment, self.reconciler.invoked)
        if (dreams := deployment.dreams) is not None:
            may = dreamer.statements(grants, deployment, region, dreams)
            make(dreamer.SHAPE, may, dreams.environment(region))
        self._wake_all(deployment, queues)

    def _wake_all(self, deployment: Deployment, queues: RegionQueues) -> None:
        limits = deployment.limits
        for queue, batch_size in ((queues.index, indexer.BATCH_SIZE), (queues.rebuild, indexer.REBUILD_BATCH_SIZE)):
            self._wake(self.indexer, queue, batch_size, limits.indexer_concurrency)
        self._wake(self.scanner, queues.scan, scanner.BATCH_SIZE, limits.scanner_concurrency)
        self._wake(self.packer, queues.pack, packer.BATCH_SIZE, PACKER_CONCURRENCY)
        if deployment.dreams is not None and queues.dream is not None:
            self._wake(self.all["dreamer"], queues.dream, dreamer.BATCH_SIZE, deployment.dreams.concurrency)

    def _wake(self, function: Function, queue: WorkQueue, batch_size: int, concurrency: int) -> None:
        """Make a function read a queue, each message for itself."""
        lambda_.EventSourceMapping(
            self,
            f"{queue.node.id}Wakes{function.node.id}",
            target=function.invoked,
            event_source_arn=queue.queue.queue_arn,
            batch_size=batch_size,
            max_concurrency=concurrency,
            report_batch_item_failures=True,
        )
