"""What rings when a region needs a person: one topic, and the alarms that publish to it.

A message in a dead-letter queue always needs one: it is an object that is in the bucket and not in the index.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.functions.region import RegionFunctions
from infra.constructs.queues import RegionQueues
from infra.deployment import Deployment

QUEUE_AGE = Duration.minutes(15)
"""S3 replicates within 15 minutes; an index that is further behind its own bucket is what people would notice."""


class RegionAlarms(Construct):
    """``{prefix}-alarms`` and what publishes to it."""

    def __init__(
        self, scope: Construct, deployment: Deployment, *, queues: RegionQueues, functions: RegionFunctions
    ) -> None:
        """Make the topic and the alarms."""
        super().__init__(scope, "Alarms")
        self._deployment = deployment
        self.topic = sns.Topic(self, "Topic", topic_name=f"{deployment.prefix}-alarms", enforce_ssl=True)
        acknowledge(
            self.topic,
            {"AwsSolutions-SNS2": "Alarms name queues and functions, no content; encryption would need a paid key."},
        )
        for queue in queues.all:
            self._above(
                queue.dead_letter_name,
                queue.dead_letters.metric_approximate_number_of_messages_visible(
                    statistic="Maximum", period=Duration.minutes(1)
                ),
                0,
                "Objects stand in the bucket and not in the index. Read the messages, then redrive them.",
            )
            self._above(
                f"{queue.name}-age",
                queue.queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=Duration.minutes(5)),
                QUEUE_AGE.to_seconds(),
                "The indexer does not keep up with the bucket; reads here grow stale.",
            )
        for name, function in functions.all.items():
            self._above(
                f"{deployment.function(name)}-errors",
                function.function.metric_errors(period=Duration.minutes(5)),
                0,
                "The function raised; its log says what.",
            )
            self._above(
                f"{deployment.function(name)}-throttles",
                function.function.metric_throttles(period=Duration.minutes(5)),
                0,
                "Calls were turned away: the account's or the function's concurrency is used up.",
            )

    def _above(self, name: str, metric: cloudwatch.Metric, threshold: float, meaning: str) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name.removeprefix(f"{self._deployment.prefix}-"),
            alarm_name=name,
            alarm_description=meaning,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
