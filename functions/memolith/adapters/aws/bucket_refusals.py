"""What a bucket of the operator's own choice refuses, and what to do about it: region, object, cause and hint."""

from __future__ import annotations

from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
    ValidationError,
)

from memolith.adapters.aws.errors import code_of, is_throttled, status_of, write_error
from memolith.core.errors import MemolithError, OutcomeUnknown, PermissionDenied, Unauthenticated
from memolith.ports.backup_places import PlaceMissing, PlaceUnanswered

GUIDE = "docs/operations/backups.md"

_UNSIGNED = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError, TokenRetrievalError, SSOError)
_BAD_CREDENTIALS = frozenset(
    {
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidToken",
        "TokenRefreshRequired",
        "RequestTimeTooSkewed",
        "UnrecognizedClientException",
        "InvalidClientTokenId",
    }
)
_ELSEWHERE = frozenset(
    {
        "PermanentRedirect",
        "TemporaryRedirect",
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "IncorrectEndpoint",
        "301",
    }
)


def refused(error: Exception, verb: str, right: str, where: str, region: str) -> MemolithError:
    """Make the error of a request about a bucket that somebody named.

    Args:
        verb: what could not be done: list, put or read.
        right: what IAM calls that.
        where: the object, or the prefix.
        region: the one that was asked.
    """
    code, facts = code_of(error), {"region": _region_told(error) or region, "object": where, "cause": code_of(error)}
    if isinstance(error, _UNSIGNED) or code in _BAD_CREDENTIALS:
        return Unauthenticated(
            "AWS does not know these credentials, or there are none",
            **facts,
            hint="sign in, such as with `aws sso login`, or choose others with --profile",
        )
    if code == "NoSuchBucket":
        return PlaceMissing("there is no such bucket", **facts, hint=f"correct its name, or make it: {GUIDE}")
    if code in _ELSEWHERE:
        return PlaceMissing("the bucket is in another region", **facts, hint="name its region with --bucket-region")
    if code.startswith("KMS") or "KMS" in _message(error):
        return PermissionDenied(
            "the bucket's key in KMS cannot be used",
            **facts,
            hint=f"is it enabled, and do its policy and theirs allow it? {GUIDE}; --kms-key names another",
        )
    if code == "InvalidObjectState":
        return PlaceUnanswered("the object is archived", **facts, hint="restore it first: `aws s3api restore-object`")
    if status_of(error) == 403:
        return PermissionDenied(
            f"these credentials may not {verb} there",
            **facts,
            hint=f"they need {right}, of the bucket's account too: {GUIDE} has both policies; --profile chooses others",
        )
    if code == "PreconditionFailed" and verb == "read":
        return PlaceUnanswered("the object was replaced while it was read", **facts, hint="run it again")
    if status_of(error) == 409:
        return PlaceUnanswered("another request about it was under way", **facts)
    if isinstance(error, (ParamValidationError, ValidationError)) or (
        400 <= status_of(error) < 500 and not is_throttled(error)
    ):
        return PlaceMissing(f"S3 does not {verb} this", **facts, hint="correct the bucket's name or the options")
    if verb == "put" and isinstance(write_error(error, where), OutcomeUnknown):
        return OutcomeUnknown("S3 did not say whether it was put", **facts)
    return PlaceUnanswered("S3 does not answer, or not now", **facts, hint="is the endpoint right, and reachable?")


def _region_told(error: Exception) -> str:
    """Return the region that S3 names as the bucket's."""
    if not isinstance(error, ClientError):
        return ""
    told = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("x-amz-bucket-region")
    return str(told or error.response.get("Error", {}).get("Region", ""))


def _message(error: Exception) -> str:
    return str(error.response.get("Error", {}).get("Message", "")) if isinstance(error, ClientError) else ""
