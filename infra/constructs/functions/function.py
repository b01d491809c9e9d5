"""One Lambda, with its own role and its own log.

The role holds the statements that it is given and those that every function needs (its log, its traces); nothing can
be added to it afterwards, by CDK neither. Whatever invokes the function invokes its alias, which a deployment moves
from version to version (`infra.constructs.rollout`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.functions.code import Layers, architecture_of, runtime_of
from infra.deployment import ALIAS, Deployment

WATCHED_AT_LEAST = (
    "erasure_age_ms",
    "guardrail_unavailable",
    "integrity_broken",
    "reconcile_failed",
    "tables_emptied",
    "watermark_age_ms",
)
"""All that functions count where monitoring is the least: what its alarms watch."""

RUNTIME_CHOSEN = {"AwsSolutions-L1": "The Python version is chosen in the record, so that every wheel exists for it."}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a function is. `scans`: it carries the scanner's layer; `speaks_mcp`: that of the MCP SDK;
    `searches`: that of the search model, where there is one; `asks`: that of the models' service, if it has an SDK."""

    name: str
    memory_mb: int
    timeout: Duration
    scans: bool = False
    speaks_mcp: bool = False
    searches: bool = False
    asks: bool = False


class Function(Construct):
    """``{prefix}-{name}`` in one region."""

    def __init__(
        self,
        scope: Construct,
        deployment: Deployment,
        region: str,
        *,
        shape: Shape,
        statements: list[iam.PolicyStatement],
        layers: Layers,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Make the function, its role ``{prefix}-{name}-{region}`` and its log ``/aws/lambda/{prefix}-{name}``."""
        super().__init__(scope, shape.name.title())
        name = deployment.function(shape.name)
        log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/lambda/{name}",
            retention=retention_of(deployment),
            removal_policy=RemovalPolicy.DESTROY,
        )
        code, carried = layers.carry(self, "function", shape.name, shape)
        own = [*statements, *self._common(deployment, region, name)]
        self.role = iam.Role(
            self,
            "Role",
            role_name=deployment.regional(shape.name, region),
            description=f"What {shape.name} in {region} may, and nothing else",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"grants": iam.PolicyDocument(statements=own)},
        )
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=name,
            description=f"Memolith {deployment.stage}: {shape.name}",
            role=self.role.without_policy_updates(),
            runtime=runtime_of(deployment),
            architecture=architecture_of(deployment),
            handler="handler.handler",
            code=code,
            layers=carried or None,
            memory_size=shape.memory_mb,
            timeout=shape.timeout,
            environment={**_environment(deployment, region, shape), **(environment or {})},
            tracing=lambda_.Tracing.ACTIVE if deployment.monitoring == "full" else lambda_.Tracing.DISABLED,
            logging_format=lambda_.LoggingFormat.JSON,
            log_group=log,
            reserved_concurrent_executions=_reserved(deployment, shape.name),
            recursive_loop=lambda_.RecursiveLoop.ALLOW if _wakes_itself(own) else None,
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE),
        )
        self.alias = _alias(self.function) if deployment.alias else None
        self.invoked: lambda_.IFunction = self.alias or self.function
        acknowledge(self.function, RUNTIME_CHOSEN)
        self._acknowledge_wildcards(own)

    @staticmethod
    def _common(deployment: Deployment, region: str, name: str) -> list[iam.PolicyStatement]:
        log = deployment.arn("logs", region, f"log-group:/aws/lambda/{name}:log-stream:*")
        return [
            iam.PolicyStatement(sid="Log", actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log]),
            iam.PolicyStatement(
                sid="Trace", actions=["xray:PutTelemetryRecords", "xray:PutTraceSegments"], resources=["*"]
            ),
        ]

    def _acknowledge_wildcards(self, statements: list[iam.PolicyStatement]) -> None:
        """Accept each wildcard by its own name, so that a new one is found."""
        for statement in statements:
            for resource in statement.resources:
                if "*" in resource:
                    acknowledge(self.role, {f"AwsSolutions-IAM5[Resource::{shown(resource)}]": _reason(resource)})


def _wakes_itself(statements: list[iam.PolicyStatement]) -> bool:
    """Tell whether the function may send to a queue that wakes it: so it goes on with work that takes many turns.

    Lambda takes that for a loop, and stops it after some 16 turns, unless the function allows it.
    Source: AWS Lambda Developer Guide, "Use Lambda recursive loop detection to prevent infinite loops".
    """

    def where_it_may(action: str) -> set[str]:
        return {resource for one in statements if action in one.actions for resource in one.resources}

    return bool(where_it_may("sqs:ReceiveMessage") & where_it_may("sqs:SendMessage"))


def _alias(function: lambda_.Function) -> lambda_.Alias:
    """Point an alias at the version that a deployment makes whenever the function's code, layers or settings change.

    Versions before it stay, so that a former one can be put back at once. One whose deployment is rolled back goes:
    Lambda would refuse to publish the same code a second time.
    """
    return lambda_.Alias(function, "Alias", alias_name=ALIAS, version=function.current_version)


def retention_of(deployment: Deployment) -> logs.RetentionDays:
    """Return the record's retention as CDK names it."""
    named = {
        1: "ONE_DAY", 3: "THREE_DAYS", 5: "FIVE_DAYS", 7: "ONE_WEEK", 14: "TWO_WEEKS", 30: "ONE_MONTH",
        60: "TWO_MONTHS", 90: "THREE_MONTHS", 120: "FOUR_MONTHS", 150: "FIVE_MONTHS", 180: "SIX_MONTHS",
        365: "ONE_YEAR", 400: "THIRTEEN_MONTHS", 545: "EIGHTEEN_MONTHS", 731: "TWO_YEARS", 1096: "THREE_YEARS",
        1827: "FIVE_YEARS", 2192: "SIX_YEARS", 2557: "SEVEN_YEARS", 2922: "EIGHT_YEARS", 3288: "NINE_YEARS",
        3653: "TEN_YEARS",
    }  # fmt: skip
    return logs.RetentionDays[named[deployment.log_retention_days]]


def _environment(deployment: Deployment, region: str, shape: Shape) -> dict[str, str]:
    """Return what `memolith.entry.settings` reads; every name of a resource is derived from it."""
    alias = {"MEMOLITH_FUNCTION_ALIAS": deployment.alias} if deployment.alias else {}
    former = {"MEMOLITH_FORMER_REGIONS": ",".join(deployment.former_regions)} if deployment.former_regions else {}
    model = {"MEMOLITH_SEARCH_MODEL": deployment.search_model} if deployment.has_search_model and shape.searches else {}
    least = {"MEMOLITH_METRICS": ",".join(WATCHED_AT_LEAST)} if deployment.monitoring == "least" else {}
    return {
        **alias,
        **former,
        **model,
        **least,
        "MEMOLITH_STAGE": deployment.stage,
        "MEMOLITH_REGIONS": ",".join(deployment.regions),
        "MEMOLITH_ACCOUNT": deployment.account_or_token,
        "MEMOLITH_INDEX_GENERATION": str(deployment.generation(region)),
        "MEMOLITH_MAX_MEMORIES_PER_STORE": str(deployment.limits.memories_per_store),
        "MEMOLITH_ERASE_DELAY_DAYS": str(deployment.limits.erase_delay_days),
        "MEMOLITH_LOG_LEVEL": deployment.log_level,
        "POWERTOOLS_SERVICE_NAME": shape.name,
    }


def _reserved(deployment: Deployment, name: str) -> int | None:
    """Return the function's reserved concurrency. The dreamer has its own, so that dreams take none of the callers'."""
    own = deployment.dreams.concurrency if deployment.dreams is not None and name == "dreamer" else None
    return deployment.limits.reserved_concurrency.get(name, own)


def shown(resource: str) -> str:
    """Return the resource as cdk-nag prints it."""
    from aws_cdk import Aws

    return resource.replace(Aws.ACCOUNT_ID, "<AWS::AccountId>")


def _reason(resource: str) -> str:
    if resource == "*":
        return "X-Ray and Bedrock's Rerank have no resources to name."
    if ":log-stream:" in resource:
        return "Lambda names the streams of the function's own log."
    if ":foundation-model/" in resource:
        return "An inference profile chooses the region whose model answers."
    if ":dynamodb:" in resource:
        return "A rebuild makes tables of further generations; all begin with this deployment's prefix."
    return "The objects of this deployment's own buckets; their keys cannot be known."
