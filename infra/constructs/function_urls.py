"""An address of its own for each function that answers requests, where an emulator has no HTTP APIs.

Not for AWS: a function URL has no limit of requests, no access log and no domain of its own. What chooses the function
by method and path, as the API's routes do (`infra.constructs.api`), is a process of the local cloud
(``scripts/local_cloud/front_door.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput
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
