"""What rings when a region needs a person: one topic, and the alarms that publish to it.

Every alarm names its runbook, ``docs/operations/{runbook}.md``: what it means, what users see, how to look, what to do,
and how to know that it is over. An alarm without one does not exist here, because `Alarm` asks for it.

Nothing that is merely unusual rings. What rings is either lost unless an operator acts (a dead letter, an object that
S3 gave up copying), or late enough for callers to notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs import measures
from infra.constructs.api import RegionApi
from infra.constructs.function_urls import FunctionUrls
from infra.constructs.functions.region import RegionFunctions
from infra.constructs.measures import FIVE_MINUTES
from infra.constructs.queues import RegionQueues
from infra.deployment import Deployment

RUNBOOKS = "docs/operations"

LAG_PROMISED = Duration.minutes(15)
"""What S3 promises where replication is paid to be on time."""
LAG_UNPROMISED = Duration.hours(1)
FAILED_REQUESTS_PERCENT = 1.0
TICKS_SPARED = 1
"""Of the ticks in five minutes: so many may succeed, or end in the next five, and the reconciler is still failing.

A tick that meets another one fails, once in a while, and is none the worse for it: not in three periods in a row.
"""
DREAM_AGE = Duration.days(1)
ERASURE_AGE = Duration.hours(1)
FAILED_DREAMS_AN_HOUR = 4
AT_LEAST = re.compile(
    r"(index|rebuild|scan|pack|dream)-dlq|index-age|reconciler-(silent|failing)|incomplete-from-.+|tables-emptied"
    r"|integrity-broken|erasures-pending|guardrail-unavailable|api-failures"
)
"""The alarms where monitoring is the least: of what waits to be lost, of what stands still, and of failing requests.

A copy that S3 gave up is fetched by the reconciler; what it cannot fetch keeps the watermark where it is.
"""
METRICS_PER_ALARM = 10
"""Source: Amazon CloudWatch User Guide, "Create a CloudWatch alarm based on a metric math expression"."""
MISSING = {False: cloudwatch.TreatMissingData.NOT_BREACHING, True: cloudwatch.TreatMissingData.BREACHING}


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm.

    Attributes:
        name: What follows the deployment's prefix.
        runbook: The file in `RUNBOOKS` that says what to do.
        meaning: One sentence for the operator who is woken.
        metric: What is watched, with its period.
        above: It rings while the metric is greater than this.
        periods: For as many periods on end.
        never_silent: What is watched must be measured whatever callers do, so that its absence rings too.
    """

    name: str
    runbook: str
    meaning: str
    metric: cloudwatch.IMetric
    above: float = 0
    periods: int = 1
    never_silent: bool = False


class RegionAlarms(Construct):
    """What rings in one region, and the topic that it is published to."""

    def __init__(
        self,
        scope: Construct,
        deployment: Deployment,
        region: str,
        *,
        queues: RegionQueues,
        functions: RegionFunctions,
        api: RegionApi | FunctionUrls,
    ) -> None:
        """Make the topic, unless the record names one, and the alarms."""
        super().__init__(scope, "Alarms")
        self._deployment = deployment
        self._region = region
        self._late = LAG_PROMISED if deployment.replication_time_control else LAG_UNPROMISED
        self.topic = self._topic()
        self.by_name: dict[str, cloudwatch.Alarm] = {}
        for alarm in (
            *self._queues(queues),
            *self._functions(functions),
            *self._index(queues),
            *self._replication(),
            *self._tables(),
            *self._api(api),
            *self._erasing(),
            *self._scanning(),
            *self._integrity(),
            *self._seals(),
            *self._reconciling(functions),
            *self._dreaming(),
        ):
            if deployment.monitoring == "full" or AT_LEAST.fullmatch(alarm.name):
                self._make(alarm)

    def _topic(self) -> sns.ITopic:
        given = self._deployment.alarms.topics.get(self._region)
        if given is not None:
            return sns.Topic.from_topic_arn(self, "Topic", given)
        topic = sns.Topic(self, "Topic", topic_name=f"{self._deployment.prefix}-alarms", enforce_ssl=True)
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                # A topic's own policy replaces the default one, and CloudWatch has no role that could allow it.
                sid="AlarmsPublish",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self._deployment.account_or_token}},
            )
        )
        acknowledge(
            topic,
            {"AwsSolutions-SNS2": "Alarms name queues and functions, no content; encryption would need a paid key."},
        )
        for address in self._deployment.alarms.emails:
            topic.add_subscription(subscriptions.EmailSubscription(address))
        return topic

    def _queues(self, queues: RegionQueues) -> Iterator[Alarm]:
        for queue in queues.all:
            of_dreams = queue is queues.dream
            yield Alarm(
                self._short(queue.dead_letter_name),
                "dreams" if of_dreams else "dead-letters",
                "Something was set aside after five tries, or because it cannot be read.",
                queue.dead_letters.metric_approximate_number_of_messages_visible(
                    statistic="Maximum", period=measures.MINUTE
                ),
            )
            yield Alarm(
                self._short(f"{queue.name}-age"),
                "dreams" if of_dreams else "queue-age",
                "A queue is not worked off as fast as it fills.",
                queue.queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=FIVE_MINUTES),
                above=queue.late.to_seconds(),
            )

    def _functions(self, functions: RegionFunctions) -> Iterator[Alarm]:
        for name, function in functions.all.items():
            yield Alarm(
                f"{name}-errors",
                "function-errors",
                f"The {name} raised; its log says what.",
                function.function.metric_errors(period=FIVE_MINUTES),
            )
            yield Alarm(
                f"{name}-throttles",
                "throttles",
                f"Calls of the {name} were turned away: the account's or the function's concurrency is used up.",
                function.function.metric_throttles(period=FIVE_MINUTES),
            )

    def _index(self, queues: RegionQueues) -> Iterator[Alarm]:
        for home in self._deployment.regions:
            yield Alarm(
                f"lag-from-{home}",
                "lag",
                f"What is written in {home} takes too long to be known in {self._region}.",
                self._counted("replication_lag_ms", statistic="p99", home=home),
                above=self._late.to_milliseconds(),
            )
        folding = {
            "sent": queues.index.queue.metric_number_of_messages_sent(period=FIVE_MINUTES, statistic="Sum"),
            "folded": self._counted("objects_folded", source="event"),
            "other": self._counted("objects_folded", source="other"),
            "failed": measures.counted(
                self._deployment, self._region, "messages_failed", service="indexer", period=FIVE_MINUTES
            ),
        }
        yield Alarm(
            "folding-stopped",
            "folding-stopped",
            "Objects arrive in the bucket and none of them is folded into the index.",
            cloudwatch.MathExpression(
                # Checkpoints arrive at every tick: they come through where all that has rows fails.
                expression="IF((FILL(sent, 0) > 0 AND FILL(folded, 0) + FILL(other, 0) == 0)"
                " OR (FILL(failed, 0) > 0 AND FILL(folded, 0) == 0), 1, 0)",
                using_metrics=folding,
                label="events and no folds",
                period=FIVE_MINUTES,
            ),
            periods=3,
        )

    def _replication(self) -> Iterator[Alarm]:
        for peer in self._deployment.peers(self._region):
            yield Alarm(
                f"replication-from-{peer}-late",
                "replication-late",
                f"S3 copies from {peer} to {self._region} too slowly.",
                measures.replication_latency(self._deployment, peer, self._region),
                above=self._late.to_seconds(),
                periods=5,
            )
            yield Alarm(
                f"replication-to-{peer}-failed",
                "replication-failed",
                f"S3 has given up copying objects from {self._region} to {peer}; it does not try again.",
                measures.replication_failures(self._deployment, self._region, peer),
            )

    def _tables(self) -> Iterator[Alarm]:
        for verb in ("Read", "Write"):
            throttles = measures.table_throttles(self._deployment, self._region, verb, FIVE_MINUTES)
            for number, start in enumerate(range(0, len(throttles), METRICS_PER_ALARM), 1):
                some = throttles[start : start + METRICS_PER_ALARM]
                yield Alarm(
                    f"tables-{verb.lower()}-throttles" + (f"-{number}" if number > 1 else ""),
                    "throttles",
                    f"DynamoDB turns {verb.lower()}s of the index away.",
                    cloudwatch.MathExpression(
                        expression="SUM(METRICS())",
                        using_metrics={f"table{position}": metric for position, metric in enumerate(some)},
                        label=f"{verb.lower()}s turned away",
                        period=FIVE_MINUTES,
                    ),
                )

    def _api(self, api: RegionApi | FunctionUrls) -> Iterator[Alarm]:
        yield Alarm(
            "api-failures",
            "api-failures",
            f"More than {FAILED_REQUESTS_PERCENT:g} % of the requests to this region fail.",
            measures.percent_failed(*api.requests(FIVE_MINUTES), "requests"),
            above=FAILED_REQUESTS_PERCENT,
            periods=2,
        )

    def _erasing(self) -> Iterator[Alarm]:
        """Watch the eraser's scheduled sweeps: each reports the age of the oldest store that is left, and 0 where none
        is, so that missed sweeps alarm."""
        yield Alarm(
            "erasures-pending",
            "erasures",
            "A deleted store is not erased here an hour after that began, or nothing has looked for 15 minutes.",
            self._counted("erasure_age_ms", statistic="Maximum"),
            above=ERASURE_AGE.to_milliseconds(),
            periods=3,
            never_silent=True,
        )

    def _scanning(self) -> Iterator[Alarm]:
        if self._region in self._deployment.guardrails:
            yield Alarm(
                "guardrail-unavailable",
                "guardrail",
                "The guardrail that the scanner asks does not answer; versions are judged without it.",
                self._counted("guardrail_unavailable"),
                periods=3,
            )

    def _integrity(self) -> Iterator[Alarm]:
        """Watch what every function counts that reads objects: a copy that is not what was acknowledged."""
        counted = {
            service: measures.counted(
                self._deployment, self._region, "objects_damaged", service=service, period=FIVE_MINUTES
            )
            for service in measures.verifying(self._deployment)
        }
        yield Alarm(
            "objects-damaged",
            "objects-damaged",
            "A stored text is not the one that was acknowledged, in this region or in the store's home.",
            cloudwatch.MathExpression(
                expression="SUM(METRICS())", using_metrics=counted, label="damaged copies read", period=FIVE_MINUTES
            ),
        )

    def _seals(self) -> Iterator[Alarm]:
        """Watch the checkpoints: those of other regions that cannot be true, and those of this one without a seal."""
        yield Alarm(
            "integrity-broken",
            "integrity-broken",
            "A checkpoint of another region cannot be true, or an object of this one is not what was acknowledged.",
            self._counted("integrity_broken"),
        )
        yield Alarm(
            "checkpoints-unsigned",
            "checkpoints-unsigned",
            "For 15 minutes the region's key has signed no checkpoint; they are published without a signature.",
            self._counted("seal_failed"),
            periods=3,
        )

    def _reconciling(self, functions: RegionFunctions) -> Iterator[Alarm]:
        """Watch what only the reconciler knows."""
        reconciler = functions.reconciler.function
        runs = reconciler.metric_invocations(period=FIVE_MINUTES, statistic="Sum")
        errors = reconciler.metric_errors(period=FIVE_MINUTES, statistic="Sum")
        yield Alarm(
            "reconciler-silent",
            "reconciler-silent",
            "The reconciler has not run, or always fails: this region's checkpoints and watermarks stand still.",
            cloudwatch.MathExpression(
                # A run that raised is among the invocations, and at the same instant among the errors.
                expression="IF(runs > FILL(errors, 0), 0, 1)",
                using_metrics={"runs": runs, "errors": errors},
                label="five minutes without a run that ended well",
                period=FIVE_MINUTES,
            ),
            periods=3,
            never_silent=True,
        )
        yield Alarm(
            "tables-emptied",
            "tables-emptied",
            "A table of the index was emptied or replaced; until a rebuild the region says that it is not complete.",
            self._counted("tables_emptied"),
        )
        yield Alarm(
            "reconciler-failing",
            "reconciler-failing",
            "The reconciler runs, and does not get its work done: checkpoints or watermarks stand still.",
            self._counted("reconcile_failed"),
            above=max(5 // self._deployment.tick_minutes - TICKS_SPARED - 1, 0),
            periods=3,
        )
        for home in self._deployment.peers(self._region):
            yield Alarm(
                f"incomplete-from-{home}",
                "watermark",
                f"{self._region} does not know to hold everything that was acknowledged in {home} until lately.",
                self._counted("watermark_age_ms", statistic="Maximum", home=home),
                above=self._late.to_milliseconds(),
                periods=3,
                never_silent=True,
            )

    def _dreaming(self) -> Iterator[Alarm]:
        if self._deployment.dreams is None:
            return
        yield Alarm(
            "dreams-late",
            "dreams",
            "A dream was asked for a day ago and is not over: its worker dies of it, or there are more than it can do.",
            self._counted("dream_age_ms", statistic="Maximum"),
            above=DREAM_AGE.to_milliseconds(),
        )
        failed = measures.counted(
            self._deployment, self._region, "dream.runs", period=Duration.hours(1), outcome="failed"
        )
        meaning = "Dreams fail, one after the other: their model is set up wrongly, or does not answer."
        yield Alarm("dreams-failing", "dreams", meaning, failed, above=FAILED_DREAMS_AN_HOUR)

    def _counted(self, name: str, *, statistic: str = "Sum", **dimensions: str) -> cloudwatch.Metric:
        return measures.counted(
            self._deployment, self._region, name, statistic=statistic, period=FIVE_MINUTES, **dimensions
        )

    def _short(self, name: str) -> str:
        return name.removeprefix(f"{self._deployment.prefix}-")

    def _make(self, wanted: Alarm) -> None:
        alarm = made(self, self._deployment, wanted)
        self.by_name[wanted.name] = alarm
        alarm.add_alarm_action(actions.SnsAction(self.topic))
        alarm.add_ok_action(actions.SnsAction(self.topic))


def made(scope: Construct, deployment: Deployment, wanted: Alarm) -> cloudwatch.Alarm:
    """Make an alarm that publishes nowhere."""
    return cloudwatch.Alarm(
        scope,
        wanted.name,
        alarm_name=f"{deployment.prefix}-{wanted.name}",
        alarm_description=f"{wanted.meaning} Runbook: {RUNBOOKS}/{wanted.runbook}.md",
        metric=wanted.metric,
        threshold=wanted.above,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluation_periods=wanted.periods,
        treat_missing_data=MISSING[wanted.never_silent],
    )
