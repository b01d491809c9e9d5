"""An address of its own for each function that answers requests, where an emulator has no HTTP APIs.

Not for AWS: a function URL has no limit of requests, no access log and no domain of its own. What chooses the function
by method and path, as the API's routes do (`infra.constructs.api`), is a process of the local cloud
(``scripts/local_cloud/front_door.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


class FunctionUrls(Construct):
    """The URLs, and an output of the stack for each: ``ReaderUrl``, ``WriterUrl``, ``McpUrl``, ``KeysUrl``."""

    def __init__(self, scope: Construct, functions: Mapping[str, lambda_.IFunction]) -> None:
        """Give each of `functions` a URL. As behind the API, keys are checked in the function."""
        super().__init__(scope, "FrontDoor")
        for name, function in functions.items():
            url = function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
            CfnOutput(scope, f"{name.title()}Url", value=url.url)
        self._functions = functions

    def requests(self, period: Duration) -> tuple[cloudwatch.IMetric, cloudwatch.IMetric]:
        """Return how many requests came in, and how many were answered with a 5xx.

        Source: AWS Lambda Developer Guide, "Monitoring Lambda function URLs".
        """
        return self._counted("UrlRequestCount", "asked", period), self._counted("Url5xxCount", "failed", period)

    def _counted(self, name: str, what: str, period: Duration) -> cloudwatch.MathExpression:
        counts = {
            f"{what}_{one}": function.metric(name, statistic="Sum", period=period)
            for one, function in self._functions.items()
        }
        return cloudwatch.MathExpression(
            expression=f"SUM([{', '.join(counts)}])", using_metrics=counts, label=f"requests {what}", period=period
        )
