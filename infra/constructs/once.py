"""A function that runs while a stack deploys (a custom resource's), small and with a role of its own.

CDK's ready-made ones bring a second language and a wider role; these are plain Python (`infra.custom_resources`).
"""

from __future__ import annotations

from typing import Any

from aws_cdk import CustomResource, Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.functions.code import Layers, architecture_of, code_of, runtime_of
from infra.constructs.functions.function import RUNTIME_CHOSEN, retention_of, shown
from infra.deployment import Deployment

CODE = "custom-resources"
AGAIN = "memolith-again"
"""What the command line names a text in (``-c memolith-again=…``) that has custom resources do their work again."""
TIMEOUT = Duration.minutes(5)
ANSWERED_WITHIN = Duration.minutes(6)
"""How long CloudFormation waits for the answer before it gives up and rolls back; an hour, unless told otherwise."""


class DeployTimeFunction(Construct):
    """``{prefix}-{name}-{region}``, run by CloudFormation alone."""

    def __init__(
        self,
        scope: Construct,
        deployment: Deployment,
        region: str,
        *,
        name: str,
        handler: str,
        statements: list[iam.PolicyStatement],
        layers: Layers | None = None,
    ) -> None:
        """Make the function, its role and its log. It has the runtime's own packages, and the library's of `layers`."""
        super().__init__(scope, "Function")
        function_name = deployment.regional(name, region)
        log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/lambda/{function_name}",
            retention=retention_of(deployment),
            removal_policy=RemovalPolicy.DESTROY,
        )
        streams = deployment.arn("logs", region, f"log-group:/aws/lambda/{function_name}:log-stream:*")
        role = iam.Role(
            self,
            "Role",
            role_name=function_name,
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={
                "grants": iam.PolicyDocument(
                    statements=[
                        *statements,
                        iam.PolicyStatement(
                            sid="Log", actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[streams]
                        ),
                    ]
                )
            },
        )
        acknowledge(
            role,
            {f"AwsSolutions-IAM5[Resource::{shown(streams)}]": "Lambda names the streams of the function's own log."},
        )
        code, carried = (code_of(self, deployment, CODE), []) if layers is None else layers.carry(self, CODE)
        self.function = lambda_.Function(
            self,
            "Code",
            function_name=function_name,
            description=f"Memolith {deployment.stage}: runs while the stack deploys",
            role=role.without_policy_updates(),
            runtime=runtime_of(deployment),
            architecture=architecture_of(deployment),
            handler=handler,
            code=code,
            layers=carried or None,
            timeout=TIMEOUT,
            log_group=log,
            logging_format=lambda_.LoggingFormat.JSON,
        )
        acknowledge(self.function, RUNTIME_CHOSEN)

    def resource(self, scope: Construct, name: str, resource_type: str, properties: dict[str, Any]) -> CustomResource:
        """Have CloudFormation run the function when `properties` are new, or have changed.

        While they are the same it runs nothing, whatever has become of what the function made. So a deployment with
        another text in `AGAIN` changes all of them.
        """
        again = self.node.try_get_context(AGAIN)
        return CustomResource(
            scope,
            name,
            service_token=self.function.function_arn,
            resource_type=resource_type,
            service_timeout=ANSWERED_WITHIN,
            properties=properties if again is None else {**properties, "Again": again},
        )
