"""The region's HTTP API: GET goes to the reader, everything else to the writer, API keys to `keys`, ``/mcp`` to MCP.

Keys are checked in the functions. The access log keeps neither paths nor query strings nor addresses: a path can be
personal.
"""

from __future__ import annotations

import json

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigatewayv2 as api
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.functions.function import retention_of
from infra.deployment import Deployment

LOGGED = {
    "requestId": "$context.requestId",
    "requestTime": "$context.requestTime",
    "routeKey": "$context.routeKey",
    "status": "$context.status",
    "responseLatencyMs": "$context.responseLatency",
    "responseBytes": "$context.responseLength",
    "integrationLatencyMs": "$context.integrationLatency",
    "integrationStatus": "$context.integrationStatus",
    "integrationRequestId": "$context.integration.requestId",
    "integrationError": "$context.integrationErrorMessage",
    "gatewayError": "$context.error.responseType",
}
"""One line of the access log. Source: Amazon API Gateway Developer Guide, "Customize HTTP API access logs"."""


MCP_PATHS = ("/mcp", "/mcp/{memory_store_id}")
KEY_PATHS = {"/v1/api_keys": ("GET", "POST"), "/v1/api_keys/{api_key_id}/revoke": ("POST",)}
"""The routes of `memolith.wire.routes.table.KEY_ROUTES`, and no others: what else is asked for is not found."""


class RegionApi(Construct):
    """``{prefix}-api``, its routes, its stage and its log."""

    def __init__(
        self,
        scope: Construct,
        deployment: Deployment,
        *,
        reader: lambda_.IFunction,
        writer: lambda_.IFunction,
        mcp: lambda_.IFunction,
        keys: lambda_.IFunction,
    ) -> None:
        """Make the API; `url` is where it answers, `stage` what serves it."""
        super().__init__(scope, "Api")
        self.api = api.HttpApi(self, "Http", api_name=f"{deployment.prefix}-api", create_default_stage=False)
        for function, methods in ((reader, ["GET"]), (writer, ["POST", "DELETE"])):
            self.api.add_routes(
                path="/{proxy+}",
                methods=[api.HttpMethod[method] for method in methods],
                integration=HttpLambdaIntegration(f"{methods[0].title()}Requests", function),
            )
        speaking = HttpLambdaIntegration("McpRequests", mcp)
        for path in MCP_PATHS:
            self.api.add_routes(path=path, methods=[api.HttpMethod.ANY], integration=speaking)
        issuing = HttpLambdaIntegration("KeyRequests", keys)
        for path, allowed in KEY_PATHS.items():
            named = [api.HttpMethod[method] for method in allowed]
            self.api.add_routes(path=path, methods=named, integration=issuing)
        log = logs.LogGroup(
            self,
            "AccessLog",
            log_group_name=f"/aws/vendedlogs/apis/{deployment.prefix}-api",
            retention=retention_of(deployment),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.stage = api.CfnStage(
            self,
            "Stage",
            api_id=self.api.api_id,
            stage_name="$default",
            auto_deploy=True,
            access_log_settings=api.CfnStage.AccessLogSettingsProperty(
                destination_arn=log.log_group_arn, format=json.dumps(LOGGED)
            ),
            default_route_settings=api.CfnStage.RouteSettingsProperty(
                detailed_metrics_enabled=deployment.monitoring == "full",
                throttling_rate_limit=deployment.limits.requests_per_second,
                throttling_burst_limit=deployment.limits.requests_burst,
            ),
        )
        self.id = self.api.api_id
        self.url = self.api.api_endpoint
        acknowledge(
            self.api,
            {"AwsSolutions-APIG4": "The functions check the API key themselves: two header forms, rules per key."},
        )

    def requests(self, period: Duration) -> tuple[cloudwatch.IMetric, cloudwatch.IMetric]:
        """Return how many requests came in, and how many were answered with a 5xx."""
        failed = self.api.metric_server_error(period=period, statistic="Sum")
        return self.api.metric_count(period=period, statistic="Sum"), failed
