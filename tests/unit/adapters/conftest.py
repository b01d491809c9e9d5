"""A server to be awkward, and no waiting for boto3's own pauses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.adapters.awkward_server import AwkwardServer, awkward_server


@pytest.fixture(scope="session")
def one_server() -> Iterator[AwkwardServer]:
    """One for all tests, because making boto3 clients takes longer than any of them."""
    with awkward_server() as running:
        yield running


@pytest.fixture
def server(one_server: AwkwardServer) -> Iterator[AwkwardServer]:
    yield one_server
    one_server.forget()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 repeats at once what it would repeat after a pause."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
