"""The region's queues: what happened to the bucket, what a rebuild still has to read, what the scanner is to look at
again, and which stores' packs are behind; and which dreams wait, where there are dreams.

Each has its dead-letter queue. A message is tried five times, then set aside until it is two weeks old, and an alarm
rings.
"""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IDependable

from infra.acknowledge import acknowledge
from infra.deployment import Deployment
from memolith.core.objects.search_pack import REFRESH_DELAY_S

RECEIVES_MAX = 5
KEPT = Duration.days(14)
"""SQS's most, in both queues of a pair: a dead letter keeps the time at which its message was sent. A queue that kept
messages for less than its dead-letter queue would lengthen no letter's time, and lose what waits in it sooner.
Source: Amazon SQS Developer Guide, "Using dead-letter queues", message retention.
"""
LATE = Duration.minutes(15)
"""S3 replicates within 15 minutes; an index that is further behind its own bucket is what people would notice."""
DREAMS_LATE = Duration.hours(2)
"""A dream may take long, and no caller waits for one."""


class WorkQueue(Construct):
    """A queue and its dead-letter queue, encrypted, over TLS only."""

    def __init__(
        self,
        scope: Construct,
        deployment: Deployment,
        name: str,
        *,
        consumer_timeout: Duration,
        delay: Duration | None = None,
        late: Duration | None = None,
    ) -> None:
        """Make ``{prefix}-{name}`` and ``{prefix}-{name}-dlq``.

        Args:
            scope: The region's queues.
            deployment: The record.
            name: What the queue carries.
            consumer_timeout: Of the function that reads it. A message stays hidden for six times as long.
                Source: AWS Lambda Developer Guide, "Using Lambda with Amazon SQS", queue configuration.
            delay: How long a message waits before it is taken; None for not at all.
            late: How old its oldest message may be before an alarm rings; None for `LATE`.
        """
        super().__init__(scope, name.title())
        self.name = f"{deployment.prefix}-{name}"
        self.late = late or LATE
        self.dead_letter_name = f"{self.name}-dlq"
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=self.dead_letter_name,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=KEPT,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.queue = sqs.Queue(
            self,
            "Messages",
            queue_name=self.name,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=KEPT,
            delivery_delay=delay,
            visibility_timeout=Duration.seconds(6 * consumer_timeout.to_seconds()),
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=RECEIVES_MAX, queue=self.dead_letters),
            removal_policy=RemovalPolicy.DESTROY,
        )
        for queue in (self.queue, self.dead_letters):
            queue.add_to_resource_policy(_tls_only(queue))
        acknowledge(self.dead_letters, {"AwsSolutions-SQS3": "This is the dead-letter queue."})


class RegionQueues(Construct):
    """The queues of one region."""

    def __init__(
        self,
        scope: Construct,
        deployment: Deployment,
        region: str,
        *,
        indexer_timeout: Duration,
        scanner_timeout: Duration,
        packer_timeout: Duration,
        dreamer_timeout: Duration,
    ) -> None:
        """Make the queues; `index` accepts what the region's bucket reports."""
        super().__init__(scope, "Queues")
        self.index = WorkQueue(self, deployment, "index", consumer_timeout=indexer_timeout)
        self.rebuild = WorkQueue(self, deployment, "rebuild", consumer_timeout=indexer_timeout)
        self.scan = WorkQueue(self, deployment, "scan", consumer_timeout=scanner_timeout)
        delay = Duration.seconds(REFRESH_DELAY_S)
        self.pack = WorkQueue(self, deployment, "pack", consumer_timeout=packer_timeout, delay=delay)
        self.dream: WorkQueue | None = None
        if deployment.dreams is not None:
            self.dream = WorkQueue(self, deployment, "dream", consumer_timeout=dreamer_timeout, late=DREAMS_LATE)
        self.index.queue.add_to_resource_policy(
            iam.PolicyStatement(
                sid="BucketReports",
                principals=[iam.ServicePrincipal("s3.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[self.index.queue.queue_arn],
                conditions={
                    "ArnEquals": {"aws:SourceArn": deployment.arn("s3", "", deployment.bucket(region))},
                    "StringEquals": {"aws:SourceAccount": deployment.account_or_token},
                },
            )
        )

    @property
    def all(self) -> tuple[WorkQueue, ...]:
        """Every queue of the region."""
        always = (self.index, self.rebuild, self.scan, self.pack)
        return always if self.dream is None else (*always, self.dream)

    @property
    def index_policy(self) -> IDependable:
        """What must stand before S3 accepts `index` as the bucket's target."""
        return self.index.queue.node.find_child("Policy")


def _tls_only(queue: sqs.Queue) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid="TlsOnly",
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=["sqs:*"],
        resources=[queue.queue_arn],
        conditions={"Bool": {"aws:SecureTransport": "false"}},
    )
