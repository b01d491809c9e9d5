"""MiniStack, in a process of its own: the second opinion on the adapters for AWS; or LocalStack, where one is named.

Nearer to AWS than moto where it matters here: it compares bodies with their checksums, tells True from 1, and decides
races by itself. It is a server, so what runs on it is slower; one serves a whole run, and is emptied for each test.
"""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3

from memolith.adapters.aws.clients import Clients
from scripts.local_cloud import emulator
from scripts.local_cloud.layout import Layout
from scripts.local_cloud.processes import ProcessFiles
from tests.contract.moto_world import DEPLOYMENT, FAR, HOME

NAMED_BY = "MEMOLITH_CONTRACT_LOCALSTACK"
"""Names a LocalStack that runs; the suite then runs on it (`make interop-localstack`)."""


class EmulatorWorld:
    """A running emulator. Its account is that of `DEPLOYMENT`, by the name of the access key."""

    def __init__(self, endpoint: str, *, localstack: bool = False) -> None:
        self._endpoint = endpoint
        self._localstack = localstack
        session = boto3.Session(aws_access_key_id=DEPLOYMENT.account, aws_secret_access_key="test")
        self._clients = Clients(endpoint, session=session)

    def emptied(self) -> Clients:
        """Clients to it, with nothing in it."""
        if self._localstack:
            for region in (HOME, FAR):
                self._empty(region)
            return self._clients
        reset = urllib.request.Request(f"{self._endpoint}/_ministack/reset", method="POST")  # noqa: S310 - our own
        with urllib.request.urlopen(reset, timeout=10):  # noqa: S310 - our own address
            return self._clients

    def _empty(self, region: str) -> None:
        """Delete buckets and queues by the API: LocalStack has no call that resets it. Tables are not its own."""
        s3, sqs = self._clients.s3(region), self._clients.sqs(region)
        buckets = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
        for bucket in (name for name in buckets if name == DEPLOYMENT.bucket(region)):
            for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
                for version in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
                    s3.delete_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])
            s3.delete_bucket(Bucket=bucket)
        for url in sqs.list_queues().get("QueueUrls", ()):
            sqs.delete_queue(QueueUrl=url)


@contextmanager
def emulator_world(folder: Path) -> Iterator[EmulatorWorld]:
    """Starts an emulator that writes below `folder`, and ends it; the one that is named is left as it is."""
    if named := os.environ.get(NAMED_BY):
        yield EmulatorWorld(named, localstack=True)
        return
    layout = Layout(folder)
    processes = ProcessFiles(layout.processes, str(layout.emulator))
    try:
        yield EmulatorWorld(emulator.start(layout, processes).endpoint)
    finally:
        emulator.stop(layout, processes)
