"""From what boto3 raises to what is known of the call.

Three things can be known: it was refused, it never left, or nothing. A refusal (4xx) and a throttle change nothing; a
connection that was never made changes nothing; after anything else a write may have happened. A read has no effect to
be unsure of, so there everything but "no such thing" is Unavailable.
"""

from __future__ import annotations

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    FlexibleChecksumError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProxyConnectionError,
    TokenRetrievalError,
)

from memolith.ports.errors import Damaged, OutcomeUnknown, Unavailable

AwsError = (ClientError, BotoCoreError)
"""What a boto3 call raises."""

_NEVER_SENT = (
    EndpointConnectionError,
    ConnectTimeoutError,
    ProxyConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
    TokenRetrievalError,
)

_THROTTLED = frozenset(
    {
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestLimitExceeded",
        "TooManyRequestsException",
        "ProvisionedThroughputExceededException",
        "BandwidthLimitExceeded",
    }
)
"""Refused before anything was done, whatever the HTTP status; S3's SlowDown is a 503."""

_MALFORMED = frozenset({"ValidationException", "SerializationException", "MetadataTooLarge", "KeyTooLongError"})
"""The request breaks a rule of the service: it would be refused for ever, so the caller is at fault."""


def code_of(error: Exception) -> str:
    """Return the service's name for the error, or its type. Never its message, which may quote values."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "Unknown"))
    return type(error).__name__


def status_of(error: Exception) -> int:
    """Return the HTTP status of the service's answer; 0 if there was none."""
    if isinstance(error, ClientError):
        return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return 0


def is_throttled(error: Exception) -> bool:
    """Tell whether the service refused it only because of its rate."""
    return code_of(error) in _THROTTLED


def read_error(error: Exception, what: str) -> Exception:
    """Make the port error for a failed read. boto3 compares a body with the checksum that it was put with."""
    if isinstance(error, FlexibleChecksumError):
        return Damaged(f"{what}: {code_of(error)}")
    if code_of(error) in _MALFORMED or isinstance(error, ParamValidationError):
        return ValueError(f"{what}: {code_of(error)}")
    return Unavailable(f"{what}: {code_of(error)}")


def write_error(error: Exception, what: str) -> Exception:
    """Make the port error for a failed write: Unavailable only if it is certain that nothing was done."""
    message = f"{what}: {code_of(error)}"
    if code_of(error) in _MALFORMED or isinstance(error, ParamValidationError):
        return ValueError(message)
    if is_throttled(error) or isinstance(error, _NEVER_SENT) or 400 <= status_of(error) < 500:
        return Unavailable(message)
    return OutcomeUnknown(message)
