"""How a region's callers come to a function's new version: a tenth of the calls first, the rest when no alarm rang.

CodeDeploy moves each function's alias. If one of the function's alarms rings meanwhile, it moves the alias back, the
update of the stack fails, and CloudFormation takes the whole stack back to what it was.
Source: AWS CloudFormation User Guide, "Perform CodeDeploy blue/green deployments", CodeDeployLambdaAliasUpdate.
"""

from __future__ import annotations

from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.alarms import RegionAlarms
from infra.constructs.functions.region import RegionFunctions
from infra.deployment import Deployment

PACE = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_15_MINUTES
"""The alarm for failing requests looks at two times five minutes."""

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
"""What else than its errors tells that a function's new version is not well."""


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
            codedeploy.LambdaDeploymentGroup(
                self,
                name.title(),
                application=application,
                deployment_group_name=name,
                alias=function.alias,
                deployment_config=PACE,
                alarms=[alarms.by_name[alarm] for alarm in (f"{name}-errors", *FURTHER_ALARMS.get(name, ()))],
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
