"""What boto3's own errors, those without an answer from AWS, say of a call."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
    ProxyConnectionError,
    ReadTimeoutError,
    ResponseStreamingError,
    SSLError,
)

from memolith.adapters.aws.errors import code_of, read_error, write_error
from memolith.ports.errors import OutcomeUnknown, Unavailable

URL = "https://s3.us-east-1.amazonaws.com/secret"
NEVER_SENT = [
    EndpointConnectionError(endpoint_url=URL),
    ConnectTimeoutError(endpoint_url=URL),
    ProxyConnectionError(proxy_url=URL),
    NoCredentialsError(),
]
PERHAPS_DONE = [
    ReadTimeoutError(endpoint_url=URL),
    ConnectionClosedError(endpoint_url=URL),
    SSLError(endpoint_url=URL, error=OSError("secret")),
    HTTPClientError(error="secret"),
    ResponseStreamingError(error="secret"),
]


@pytest.mark.parametrize("error", NEVER_SENT, ids=code_of)
def test_what_never_left_changed_nothing(error: BotoCoreError) -> None:
    assert type(write_error(error, "a put")) is Unavailable


@pytest.mark.parametrize("error", PERHAPS_DONE, ids=code_of)
def test_what_left_may_have_been_done(error: BotoCoreError) -> None:
    assert type(write_error(error, "a put")) is OutcomeUnknown


@pytest.mark.parametrize("error", [*NEVER_SENT, *PERHAPS_DONE], ids=code_of)
def test_a_read_is_only_ever_unavailable_and_nothing_is_quoted(error: BotoCoreError) -> None:
    told = read_error(error, "a get")
    assert type(told) is Unavailable
    assert str(told) == f"a get: {code_of(error)}"


def test_a_request_that_boto3_would_not_send_is_a_defect_of_the_caller() -> None:
    error = ParamValidationError(report="secret")
    for told in (read_error(error, "a get"), write_error(error, "a put")):
        assert isinstance(told, ValueError)
        assert "secret" not in str(told)
