"""MiniStack, in a process of its own: the second opinion on the adapters for AWS.

Nearer to AWS than moto where it matters here: it compares bodies with their checksums, tells True from 1, and decides
races by itself. It is a server, so what runs on it is slower; one serves a whole run, and is emptied for each test.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3

from memolith.adapters.aws.clients import Clients
from scripts.local_cloud import emulator
from scripts.local_cloud.layout import Layout
from scripts.local_cloud.processes import ProcessFiles
from tests.contract.moto_world import DEPLOYMENT


class EmulatorWorld:
    """A running emulator. Its account is that of `DEPLOYMENT`, by the name of the access key."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        session = boto3.Session(aws_access_key_id=DEPLOYMENT.account, aws_secret_access_key="test")
        self._clients = Clients(endpoint, session=session)

    def emptied(self) -> Clients:
        """Clients to it, with nothing in it."""
        reset = urllib.request.Request(f"{self._endpoint}/_ministack/reset", method="POST")  # noqa: S310 - our own
        with urllib.request.urlopen(reset, timeout=10):  # noqa: S310 - our own address
            return self._clients


@contextmanager
def emulator_world(folder: Path) -> Iterator[EmulatorWorld]:
    """Starts an emulator that writes below `folder`, and ends it."""
    layout = Layout(folder)
    processes = ProcessFiles(layout.processes, str(layout.emulator))
    try:
        yield EmulatorWorld(emulator.start(layout, processes).endpoint)
    finally:
        emulator.stop(layout, processes)
