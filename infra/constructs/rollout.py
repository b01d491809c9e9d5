"""How a region's callers come to a function's new version: a tenth of the calls first, the rest when no alarm rang.

CodeDeploy moves each function's alias. If one of the function's alarms rings meanwhile, it moves the alias back, the
update of the stack fails, and CloudFormation takes the whole stack back to what it was.
Source: AWS CloudFormation User Guide, "Perform CodeDeploy blue/green deployments", CodeDeployLambdaAliasUpdate.

What a queue or a schedule wakes raises nothing when it fails: the message comes back, and the tick is left to the next.
It becomes a dead letter long after the new version has got all calls. So these functions have an alarm for the part of
their messages, or of their ticks, that failed in five minutes. It is for CodeDeploy alone and publishes nowhere, since
as much as a bad version makes of a tenth of the calls fails for five minutes on good days too, once in a while.
"""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs import measures
from infra.constructs.alarms import Alarm, RegionAlarms, made
from infra.constructs.functions.function import Function
from infra.constructs.functions.region import RegionFunctions
from infra.deployment import Deployment

PACE = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_15_MINUTES
"""The alarm for failing requests looks at two times five minutes."""

MESSAGES = ("indexer", "scanner", "packer", "dreamer")
"""The functions that a queue wakes; `memolith.entry.batches` counts their messages."""
GUARDED = (*MESSAGES, "reconciler")
FAILED_MESSAGES_PERCENT = 5.0
FAILED_TICKS_PERCENT = 1.0
"""One failed tick: a tenth of those of 15 minutes is no more."""

FURTHER_ALARMS = {
    "reader": ("api-failures",),
    "writer": ("api-failures",),
    "mcp": ("api-failures",),
    "indexer": ("index-dlq", "folding-stopped"),
    "reconciler": ("reconciler-failing",),
    "scanner": ("scan-dlq",),
    "packer": ("pack-dlq",),
    "dreamer": ("dream-dlq",),
}
"""What else than its errors, and what failed of its messages, tells that a function's new version is not well."""


class GradualRollout(Construct):
    """``{prefix}`` in CodeDeploy, with a deployment group for each function."""

    def __init__(
        self, scope: Construct, deployment: Deployment, region: str, *, functions: RegionFunctions, alarms: RegionAlarms
    ) -> None:
        """Have CodeDeploy move the alias of every function, guarded by the function's alarms."""
        super().__init__(scope, "Rollout")
        application = codedeploy.LambdaApplication(self, "Application", application_name=deployment.prefix)
        role = self._role(deployment, region, functions)
        for name, function in functions.all.items():
            if function.alias is None:
                raise ValueError(f"{name} has no alias to move")
            guards = [alarms.by_name[alarm] for alarm in (f"{name}-errors", *FURTHER_ALARMS.get(name, ()))]
            if name in GUARDED:
                guards.append(made(self, deployment, _failures(deployment, region, name, function)))
            codedeploy.LambdaDeploymentGroup(
                self,
                name.title(),
                application=application,
                deployment_group_name=name,
                alias=function.alias,
                deployment_config=PACE,
                alarms=guards,
                # Without this a group would be made with CodeDeploy's own, wider policy.
                role=role.without_policy_updates(),
            )

    def _role(self, deployment: Deployment, region: str, functions: RegionFunctions) -> iam.Role:
        moved = [
            deployment.arn("lambda", region, f"function:{name}")
            for function in functions.all
            for name in (deployment.function(function), deployment.invoked(function))
        ]
        role = iam.Role(
            self,
            "Role",
            role_name=deployment.regional("rollout", region),
            description=f"What CodeDeploy in {region} may: move the functions' aliases, and see the alarms",
            assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"),
            inline_policies={
                "grants": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(
                            sid="MoveAliases",
                            actions=[
                                "lambda:GetAlias",
                                "lambda:GetProvisionedConcurrencyConfig",
                                "lambda:UpdateAlias",
                            ],
                            resources=moved,
                        ),
                        iam.PolicyStatement(sid="SeeAlarms", actions=["cloudwatch:DescribeAlarms"], resources=["*"]),
                    ]
                )
            },
        )
        acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": "CodeDeploy asks for the alarms of the region at once."})
        return role


def _failures(deployment: Deployment, region: str, name: str, function: Function) -> Alarm:
    """Return the alarm for what a function could not do, of all its versions together."""

    def counted(metric: str) -> cloudwatch.Metric:
        return measures.counted(deployment, region, metric, service=name, period=measures.FIVE_MINUTES)

    if name in MESSAGES:
        meaning = f"More than {FAILED_MESSAGES_PERCENT:g} % of the messages to the {name} failed."
        part = measures.percent_failed(counted("messages"), counted("messages_failed"), "messages")
        return Alarm(f"{name}-failures", "function-errors", meaning, part, above=FAILED_MESSAGES_PERCENT)
    runs = function.function.metric_invocations(period=measures.FIVE_MINUTES, statistic="Sum")
    part = measures.percent_failed(runs, counted("reconcile_failed"), "ticks")
    meaning = "A run of the reconciler left a part of its work undone."
    return Alarm(f"{name}-failures", "reconciler-failing", meaning, part, above=FAILED_TICKS_PERCENT)
