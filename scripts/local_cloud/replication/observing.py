"""Learn of new objects: a notification for speed, a listing for certainty.

`Hook` gives the bucket a second notification, to a queue of the replicator's own. AWS refuses two queues for one
prefix; emulators take it, and it is added at run time only, never by a template. `sweep` lists all versions under the
rules' prefixes and so finds whatever no notification told of: it runs at the start, then from time to time, or, where
the hook is refused, as often as its cost allows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

from botocore.exceptions import ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.replication.ledger import ObjectVersion
from scripts.local_cloud.replication.rules import Bucket, Rules

HOOK_ID = "local-cloud-replication"


class Hook:
    """A queue that is told of every object created under the rules' prefixes of one bucket."""

    def __init__(self, clients: Clients, bucket: Bucket) -> None:
        self._clients = clients
        self._bucket = bucket
        self._queue = f"replicate-{bucket.name}"
        self._url = ""

    def ensure(self, prefixes: list[str]) -> bool:
        """Add the hook if it is not there (a later deploy may replace it). False if the endpoint refuses it.

        Cost: one GET, and a PUT if something has to change. The bucket's other notifications stay as they are.
        """
        s3 = self._clients.s3(self._bucket.region)
        present = _configuration(s3.get_bucket_notification_configuration(Bucket=self._bucket.name))
        others = [entry for entry in present.get("QueueConfigurations", []) if not _is_hook(entry)]
        hooks = [entry for entry in present.get("QueueConfigurations", []) if _is_hook(entry)]
        wanted = [_entry(self._arn(), prefix) for prefix in prefixes]
        if sorted(entry["Id"] for entry in hooks) == sorted(entry["Id"] for entry in wanted):
            return True
        return self._put({**present, "QueueConfigurations": [*others, *wanted]})

    def remove(self) -> None:
        """Take the hook and its queue away again."""
        s3 = self._clients.s3(self._bucket.region)
        present = _configuration(s3.get_bucket_notification_configuration(Bucket=self._bucket.name))
        others = [entry for entry in present.get("QueueConfigurations", []) if not _is_hook(entry)]
        self._put({**present, "QueueConfigurations": others})
        if self._url:
            self._clients.sqs(self._bucket.region).delete_queue(QueueUrl=self._url)

    def receive(self, record: Callable[[list[ObjectVersion]], None], *, wait_s: int) -> int:
        """Wait for messages, hand their objects over, and only then delete them. Returns how many there were."""
        sqs = self._clients.sqs(self._bucket.region)
        answer = sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10, WaitTimeSeconds=wait_s)
        messages = answer.get("Messages", [])
        if messages:
            record([version for message in messages for version in self._versions(json.loads(message["Body"]))])
            entries = [
                {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                for number, message in enumerate(messages)
            ]
            sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)  # type: ignore[arg-type]  # boto3 has types of its own
        return len(messages)

    def _versions(self, body: Mapping[str, Any]) -> Iterator[ObjectVersion]:
        for entry in body.get("Records", []):
            if (
                not entry["eventName"].startswith("ObjectCreated:")
                or entry["s3"]["bucket"]["name"] != self._bucket.name
            ):
                continue
            described = entry["s3"]["object"]
            key = unquote_plus(described["key"])
            written_ms = milliseconds(entry["eventTime"])
            yield ObjectVersion(self._bucket.name, key, described.get("versionId", "null"), written_ms)

    def _put(self, configuration: Mapping[str, Any]) -> bool:
        try:
            self._clients.s3(self._bucket.region).put_bucket_notification_configuration(
                Bucket=self._bucket.name,
                NotificationConfiguration=configuration,  # type: ignore[arg-type]  # boto3 has types of its own
            )
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in {400, 501}:
                return False
            raise
        return True

    def _arn(self) -> str:
        sqs = self._clients.sqs(self._bucket.region)
        if not self._url:
            self._url = sqs.create_queue(QueueName=self._queue)["QueueUrl"]
            arn = _queue_arn(sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"]))
            policy = {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Service": "s3.amazonaws.com"},
                        "Action": "sqs:SendMessage",
                        "Resource": arn,
                    }
                ],
            }
            sqs.set_queue_attributes(QueueUrl=self._url, Attributes={"Policy": json.dumps(policy)})
        return _queue_arn(sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"]))


def sweep(clients: Clients, bucket: Bucket, rules: Rules) -> Iterator[list[ObjectVersion]]:
    """Yield all versions under the bucket's rules, oldest first within a page's key. One request for each 1,000.

    Delete markers are left out: they are not copied.
    """
    paginator = clients.s3(bucket.region).get_paginator("list_object_versions")
    for prefix in rules.prefixes(bucket.name):
        for page in paginator.paginate(Bucket=bucket.name, Prefix=prefix):
            found = [
                ObjectVersion(bucket.name, entry["Key"], entry["VersionId"], _epoch_ms(entry["LastModified"]))
                for entry in page.get("Versions", [])
            ]
            yield list(reversed(found))


def milliseconds(instant: str) -> int:
    """Convert an event's time, ISO 8601 in UTC, to milliseconds since 1970."""
    from datetime import datetime

    return _epoch_ms(datetime.fromisoformat(instant.replace("Z", "+00:00")))


def _epoch_ms(instant: Any) -> int:
    return int(instant.timestamp() * 1000)


def _configuration(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def _is_hook(entry: Mapping[str, Any]) -> bool:
    return str(entry.get("Id", "")).startswith(HOOK_ID)


def _entry(arn: str, prefix: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"Id": f"{HOOK_ID}-{prefix}", "QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}
    if prefix:
        entry["Filter"] = {"Key": {"FilterRules": [{"Name": "prefix", "Value": prefix}]}}
    return entry


def _queue_arn(answer: Mapping[str, Any]) -> str:
    arn: str = answer["Attributes"]["QueueArn"]
    return arn
