"""boto3 clients of one endpoint, as the account's root user."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.config import Config

from scripts.local_cloud.environment import ACCOUNT, SECRET

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

CONFIG = Config(
    s3={"addressing_style": "path"},
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
    max_pool_connections=16,
    connect_timeout=5,
    read_timeout=60,
    retries={"mode": "standard", "total_max_attempts": 3},
)


class Clients:
    """Clients by service and region, each made once. Safe to share between threads.

    Root's credentials pass every policy of the emulator, as S3's own replication does on AWS, where it authorizes as
    ``s3:ReplicateObject`` and so is not stopped by what a policy says of ``s3:PutObject``.
    """

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._session = boto3.Session(aws_access_key_id=ACCOUNT, aws_secret_access_key=SECRET)
        self._made: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def client(self, service: str, region: str) -> Any:
        """Make a client of any service, untyped; the typed ones below are this one."""
        with self._lock:
            if (service, region) not in self._made:
                make: Any = self._session.client
                self._made[service, region] = make(
                    service, region_name=region, endpoint_url=self.endpoint, config=CONFIG
                )
            return self._made[service, region]

    def s3(self, region: str) -> S3Client:
        """Return the client of S3 in a region."""
        return cast("S3Client", self.client("s3", region))

    def sqs(self, region: str) -> SQSClient:
        """Return the client of SQS in a region."""
        return cast("SQSClient", self.client("sqs", region))

    def dynamodb(self, region: str) -> DynamoDBClient:
        """Return the client of DynamoDB in a region."""
        return cast("DynamoDBClient", self.client("dynamodb", region))

    def functions(self, region: str) -> LambdaClient:
        """Return the client of Lambda in a region."""
        return cast("LambdaClient", self.client("lambda", region))

    def cloudformation(self, region: str) -> CloudFormationClient:
        """Return the client of CloudFormation in a region."""
        return cast("CloudFormationClient", self.client("cloudformation", region))
