"""boto3 clients, made once a region.

Nothing here is left to a default that decides how a failure looks. Time-outs are short enough to leave a Lambda time
for an answer. A call whose repetition would hide its outcome (a conditional put, a commit of rows, an invocation) goes
out once (`attempts=1`): botocore otherwise repeats it after a lost reply, and what the second try is told is then taken
for what happened to the first. Reads are repeated by botocore.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sts import STSClient

Attempts = Literal[1, 3]
"""Once, or once and two repetitions with backoff (botocore's ``standard`` mode)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how wide.

    Attributes:
        connect_s: to connect; another region is at most some 0.3 s away.
        read_s: between two bytes of an answer, for S3, DynamoDB and SQS.
        invoke_s: for another function's answer; below the 29 s that a caller has itself.
        connections: at once to one service in one region.
    """

    connect_s: float = 2.0
    read_s: float = 6.0
    invoke_s: float = 25.0
    connections: int = 32


class Clients:
    """Clients by service and region, made when first asked for. Safe for threads.

    Args:
        endpoint_url: where an emulator listens; None for AWS. With one, buckets stand in the path, because the names
            of an emulator's host rarely have subdomains.
        limits: time-outs and connections.
        session: whose credentials; boto3's default chain by default.
    """

    def __init__(
        self, endpoint_url: str | None = None, limits: Limits | None = None, session: boto3.Session | None = None
    ) -> None:
        self._endpoint_url = endpoint_url
        self._limits = limits or Limits()
        self._session = session or boto3.Session()
        self._clients: dict[tuple[str, str, int], Any] = {}
        self._lock = threading.Lock()

    def s3(self, region: str, attempts: Attempts = 3) -> S3Client:
        """Return the client of a region's buckets."""
        client: S3Client = self._client("s3", region, attempts)
        return client

    def dynamodb(self, region: str, attempts: Attempts = 3) -> DynamoDBClient:
        """Return the client of a region's tables."""
        client: DynamoDBClient = self._client("dynamodb", region, attempts)
        return client

    def sqs(self, region: str) -> SQSClient:
        """Return the client of a region's queues."""
        client: SQSClient = self._client("sqs", region, 3)
        return client

    def functions(self, region: str) -> LambdaClient:
        """Return the client of a region's functions; an invocation goes out once."""
        client: LambdaClient = self._client("lambda", region, 1)
        return client

    def cloudformation(self, region: str) -> CloudFormationClient:
        """Return the client of a region's stacks; only operators have the right to ask it anything."""
        client: CloudFormationClient = self._client("cloudformation", region, 3)
        return client

    def route53(self, region: str) -> Any:
        """Return the client of the names and health checks of a region's partition; only operators may ask it."""
        return self._client("route53", region, 3)

    def bedrock_runtime(self, region: str | None) -> BedrockRuntimeClient:
        """Return the client of a region's models and guardrails, asked once: who asks repeats a question.

        Raises:
            LookupError: no region is named, nor does the shell or the profile name one.
        """
        named = region or self._session.region_name
        if named is None:
            raise LookupError("no region is named: set AWS_DEFAULT_REGION, or `region` in ~/.aws/config")
        client: BedrockRuntimeClient = self._client("bedrock-runtime", named, 1)
        return client

    def bedrock_agent_runtime(self, region: str) -> Any:
        """Return the client of a region's rerank models; asked once, as a search waits for the answer."""
        return self._client("bedrock-agent-runtime", region, 1)

    def secrets(self, region: str) -> SecretsManagerClient:
        """Return the client of a region's secrets."""
        client: SecretsManagerClient = self._client("secretsmanager", region, 3)
        return client

    def kms(self, region: str) -> Any:
        """Return the client of a region's keys; a signature changes nothing and is repeated."""
        return self._client("kms", region, 3)

    def sts(self, region: str) -> STSClient:
        """Return the client that says who is calling."""
        client: STSClient = self._client("sts", region, 3)
        return client

    def _client(self, service: str, region: str, attempts: Attempts) -> Any:
        with self._lock:
            found = self._clients.get((service, region, attempts))
            if found is None:
                found = self._make(service, region, attempts)
                self._clients[service, region, attempts] = found
            return found

    def _make(self, service: Any, region: str, attempts: Attempts) -> Any:
        limits = self._limits
        config = Config(
            connect_timeout=limits.connect_s,
            read_timeout=limits.invoke_s if service == "lambda" else limits.read_s,
            max_pool_connections=limits.connections,
            retries={"mode": "standard", "total_max_attempts": attempts},
            tcp_keepalive=True,
            response_checksum_validation="when_required",  # who reads a body says whether boto3 is to check it
            s3={
                "addressing_style": "path" if self._endpoint_url else "auto",
                "us_east_1_regional_endpoint": "regional",
            },
        )
        client = self._session.client(service, region_name=region, endpoint_url=self._endpoint_url, config=config)
        if service == "s3":
            client.meta.events.register("before-parse.s3.ListObjectsV2", _without_unused)
        return client


_UNUSED = re.compile(rb"<(LastModified|ETag|StorageClass|ChecksumAlgorithm|ChecksumType)>[^<]*</\1>")


def _without_unused(response_dict: dict[str, Any], **_: object) -> None:
    """Take out of a listing what nobody reads: botocore spends 50 of 65 ms for a thousand keys on their times."""
    response_dict["body"] = _UNUSED.sub(b"", response_dict["body"])


def local_clients(endpoint_url: str) -> Clients:
    """Make the clients of an emulator, whose root has fixed credentials; nothing of the user's own is sent to it."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")  # noqa: S106 - the emulator's, and no secret
    return Clients(endpoint_url, session=session)
