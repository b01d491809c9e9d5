"""The bodies of requests: strict JSON, strict types, no field that is not named here.

Every fault becomes one `InvalidRequest` that names the field and the rule. Where the API leaves a field out, null means
the same as leaving it out; `content` of a new memory and `precondition` are the exceptions, where null could hide a
mistake.
Source: docs/api-compatibility.md §1.2 and §1.10.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from memolith.core import ids, limits
from memolith.core.commands import ImportedVersion
from memolith.core.errors import InvalidRequest
from memolith.core.times import parse_rfc3339
from memolith.wire.json_views import actor_text

FIELDS_MAX = 64
"""Fields of one JSON object. No body has more, and a fault for each of a million would take seconds to collect."""

_NAME_MAX_CHARS = 80

_LABEL = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


def _without_controls(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise PydanticCustomError("control_characters", "must not contain control characters")
    return text


def _unicode(text: str) -> str:
    if not _is_unicode(text):
        raise PydanticCustomError("lone_surrogates", "must not contain lone surrogates")
    return text


def _one_line(text: str) -> str:
    return _without_controls(_unicode(text))


def _present(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "must not be null; leave it out instead")
    return value


def _few(rules: list[str]) -> list[str]:
    if len(rules) > limits.SCAN_ALLOW_MAX_RULES:
        raise PydanticCustomError("too_many_rules", f"must name at most {limits.SCAN_ALLOW_MAX_RULES} rules")
    return rules


def _form(form: re.Pattern[str], rule: str) -> AfterValidator:
    def check(text: str) -> str:
        if form.fullmatch(text) is None:
            raise PydanticCustomError("form", "{rule}", {"rule": rule})
        return text

    return AfterValidator(check)


Text = Annotated[str, AfterValidator(_unicode)]
"""Unlike a string with limits of length, a plain one is not looked into by pydantic."""
Name = Annotated[str, Field(min_length=1, max_length=limits.STORE_NAME_MAX_CHARS), AfterValidator(_without_controls)]
Description = Annotated[str, Field(max_length=limits.DESCRIPTION_MAX_CHARS)]
MetadataKey = Annotated[str, Field(min_length=1, max_length=limits.METADATA_KEY_MAX_CHARS)]
MetadataValue = Annotated[str, Field(max_length=limits.METADATA_VALUE_MAX_CHARS)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], Field(max_length=limits.METADATA_MAX_PAIRS)]
MetadataPatch = Annotated[dict[MetadataKey, MetadataValue | None], Field(max_length=2 * limits.METADATA_MAX_PAIRS)]
"""Removes all pairs a store can have and sets as many: what the store then holds is checked where it is known."""
Region = Annotated[str, Field(min_length=1, max_length=limits.REGION_MAX_CHARS)]
RuleId = Annotated[str, Field(min_length=1, max_length=limits.RULE_ID_MAX_CHARS)]
ActorPart = Annotated[str, _form(re.compile(r"[a-z0-9_]{1,80}"), "must be a part of an actor, as the API shows it")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class Body(BaseModel):
    """Base of the bodies below; by itself, the body of an operation that takes none."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class ScanPolicy(Body):
    """How the store's writes are scanned; what is left out stays, or is the default. Memolith's own."""

    policy: Literal["strict", "standard", "audit"] | None = None
    allow: Annotated[list[RuleId], AfterValidator(_few)] | None = None


class Retention(Body):
    """How long versions are kept; what is left out stays, or is the default. Memolith's own."""

    days: Annotated[int, Field(ge=1, le=limits.RETENTION_DAYS_MAX)] | None = None
    versions: Annotated[int, Field(ge=1, le=limits.RETENTION_VERSIONS_MAX)] | None = None


class StoreCreate(Body):
    """POST /v1/memory_stores."""

    name: Name
    description: Description | None = None
    metadata: Metadata | None = None
    scan_policy: ScanPolicy | None = None
    retention: Retention | None = None
    durability: Literal["one_region", "two_regions"] | None = None
    second_region: Region | None = None


class StoreUpdate(Body):
    """POST /v1/memory_stores/{id}; may be empty."""

    name: Name | None = None
    description: Description | None = None
    metadata: MetadataPatch | None = None
    scan_policy: ScanPolicy | None = None
    retention: Retention | None = None
    durability: Literal["one_region", "two_regions"] | None = None
    second_region: Region | None = None


class MemoryCreate(Body):
    """POST …/memories. The grammar of the path and the size of the content are the core's to check."""

    path: Text
    content: Text


class Precondition(Body):
    """What the memory's current content must be."""

    type: Literal["content_sha256"]
    content_sha256: Sha256


class MemoryUpdate(Body):
    """POST …/memories/{id}; names content, path or both."""

    content: Text | None = None
    path: Text | None = None
    precondition: Annotated[Precondition | None, AfterValidator(_present)] = None


class MemoryStoreResource(Body):
    """One store of a new session."""

    type: Literal["memory_store"]
    memory_store_id: Text
    access: Literal["read_write", "read_only"] = "read_write"
    instructions: Annotated[str, Field(max_length=limits.INSTRUCTIONS_MAX_CHARS)] | None = None


TokenLifetime = Annotated[int, Field(ge=limits.TOKEN_LIFETIME_MIN_S, le=limits.TOKEN_LIFETIME_MAX_S)]


class SessionCreate(Body):
    """POST /v1/sessions: the part of a managed agent's session that concerns memory. `agent` and the like are let pass.

    `token_lifetime_seconds` is Memolith's own. Ids in `agent` and `environment_id` are kept to be shown again.
    """

    resources: list[MemoryStoreResource]
    title: Annotated[str, Field(max_length=limits.SESSION_TITLE_MAX_CHARS)] | None = None
    metadata: Metadata | None = None
    agent: Any = None
    environment_id: Any = None
    vault_ids: Any = None
    token_lifetime_seconds: TokenLifetime = limits.TOKEN_LIFETIME_DEFAULT_S

    @property
    def agent_named(self) -> tuple[str | None, int | None]:
        """The id of the agent, which may stand alone, and its version."""
        if not isinstance(self.agent, dict):
            return _label(self.agent), None
        version = self.agent.get("version")
        return _label(self.agent.get("id")), version if type(version) is int and 0 <= version < 2**31 else None

    @property
    def environment_named(self) -> str | None:
        return _label(self.environment_id)


def _label(given: Any) -> str | None:
    """Return an id of somebody else's; None for what is none, which is let pass."""
    return given if isinstance(given, str) and _LABEL.fullmatch(given) else None


class SessionUpdate(Body):
    """POST /v1/sessions/{id}; may be empty. Of a managed agent's session the rest cannot be changed here."""

    title: Annotated[str, Field(max_length=limits.SESSION_TITLE_MAX_CHARS)] | None = None
    metadata: MetadataPatch | None = None


class SessionToken(Body):
    """POST /v1/sessions/{id}/token; may be empty."""

    token_lifetime_seconds: TokenLifetime = limits.TOKEN_LIFETIME_DEFAULT_S


class SessionContext(Body):
    """POST /v1/sessions/{id}/context; may be empty. Memolith's own."""

    refresh: bool | None = None


class Release(Body):
    """POST …/quarantine/{id}/release. Memolith's own."""

    reason: Annotated[str, Field(min_length=1, max_length=limits.RELEASE_REASON_MAX_CHARS), AfterValidator(_one_line)]


class WithheldText(Body):
    """Why a text was withheld, as a version tells it."""

    reason: Annotated[str, Field(max_length=limits.RELEASE_REASON_MAX_CHARS), AfterValidator(_one_line)]
    rules: Annotated[list[RuleId], AfterValidator(_few)]
    since: Text | None = None


class VersionToImport(Body):
    """One version of POST …/memory_versions: what an answer tells of a version, without what is made here anew."""

    id: Annotated[str, _form(ids.VERSION, "must be the id of a version")]
    memory_id: Annotated[str, _form(ids.MEMORY, "must be the id of a memory")]
    operation: Literal["created", "modified", "deleted"]
    created_at: Text
    created_by: dict[str, ActorPart] | None = None
    path: Text | None = None
    content: Text | None = None
    redacted_at: Text | None = None
    redacted_by: dict[str, ActorPart] | None = None
    withheld: WithheldText | None = None


class VersionsToImport(Body):
    """POST …/memory_versions. Memolith's own."""

    versions: Annotated[list[VersionToImport], Field(min_length=1, max_length=limits.IMPORT_MAX_VERSIONS)]


def imported_version(one: VersionToImport, field: str, importer: str) -> ImportedVersion:
    """Convert a version for the use cases; the default actor is the `importer`. Raises InvalidRequest."""
    redacted = None if one.redacted_at is None else _instant(one.redacted_at, f"{field}.redacted_at")
    return ImportedVersion(
        memory_id=one.memory_id,
        version_id=one.id,
        operation=one.operation,
        actor=importer if one.created_by is None else _actor(one.created_by, f"{field}.created_by"),
        created_at=_instant(one.created_at, f"{field}.created_at"),
        path=one.path,
        content=one.content,
        redacted_at=redacted,
        redacted_by=None if one.redacted_by is None else _actor(one.redacted_by, f"{field}.redacted_by"),
        withheld_rules=() if one.withheld is None else tuple(one.withheld.rules),
        withheld_reason=None if one.withheld is None else one.withheld.reason,
    )


def _instant(text: str, field: str) -> int:
    try:
        instant_us = parse_rfc3339(text.upper())
    except ValueError as error:
        raise InvalidRequest(field, "must be an RFC 3339 date and time with an offset") from error
    if instant_us < 0:
        raise InvalidRequest(field, "must not be before 1970")
    return instant_us


def _actor(shown: dict[str, str], field: str) -> str:
    try:
        return actor_text(shown)
    except ValueError as error:
        raise InvalidRequest(field, "must be an actor as the API shows it") from error


B = TypeVar("B", bound=Body)


def parse(schema: type[B], body: bytes) -> B:
    """Parse the body as `schema`.

    Raises:
        InvalidRequest: naming the first field at fault, or ``body``.
    """
    try:
        return schema.model_validate(_decode(body))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=True)[0]
        raise InvalidRequest(_field(first["loc"]), _rule(first)) from None


def check_no_body(body: bytes) -> None:
    """Check that the body is empty or ``{}``, for an operation without a body.

    Anything else is refused rather than ignored: a precondition put into the body of a DELETE must not be lost.
    """
    if body.strip():
        parse(Body, body)


def _decode(body: bytes) -> Any:
    """Parse strict JSON: UTF-8, no field twice, no NaN or Infinity, limited depth, number length and field count."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("body", "must be UTF-8") from error
    if not text.strip():
        raise InvalidRequest("body", "must be a JSON object")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise InvalidRequest("body", "is nested too deeply") from error
    except ValueError as error:
        raise InvalidRequest("body", "must be valid JSON") from error


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > FIELDS_MAX:
        raise InvalidRequest("body", f"must have at most {FIELDS_MAX} fields in one object")
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if not _is_unicode(name):
            raise InvalidRequest("body", "must not have lone surrogates in a field's name")
        if name in fields:
            raise InvalidRequest(name[:_NAME_MAX_CHARS], "must be given once")
        fields[name] = value
    return fields


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(constant: str) -> NoReturn:
    raise InvalidRequest("body", f"must be valid JSON, which has no {constant}")


def _field(location: tuple[int | str, ...]) -> str:
    """Name a field: ``metadata.key`` for a fault of a key or its value; ``body`` for the body itself."""
    return ".".join(str(part)[:_NAME_MAX_CHARS] for part in location if part != "[key]") or "body"


_RULES = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "string_type": "must be a string",
    "string_unicode": "must not contain lone surrogates",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must be at least {min_length} character long",
    "string_too_long": "must be at most {max_length} characters long",
    "too_long": "must have at most {max_length} pairs",
    "literal_error": "must be {expected}",
    "string_pattern_mismatch": "must be 64 lower-case hexadecimal characters",
}


def _rule(error: ErrorDetails) -> str:
    template = _RULES.get(error["type"])
    rule = error["msg"] if template is None else template.format(**error.get("ctx", {}))
    if error["loc"][-1:] == ("[key]",):
        return f"as a key, {rule}"
    return rule
