"""The bodies of requests: strict JSON, strict types, no field that is not named here.

Every fault becomes one `InvalidRequest` that names the field and the rule. Where the API leaves a field out, null means
the same as leaving it out; not so for `content` of a new memory and `precondition`, where it could hide a mistake.
Source: docs/api-compatibility.md §1.2 and §1.10.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from memolith.core import ids, limits
from memolith.core.commands import ImportedVersion
from memolith.core.errors import InvalidRequest
from memolith.core.times import LAST_US, parse_rfc3339
from memolith.core.trust import TrustName, of_import
from memolith.wire import strict_json
from memolith.wire.json_views import actor_text
from memolith.wire.requests import ID_MAX_CHARS

STORE_ID_MAX_CHARS = 4_096
"""More than any key could hold: a text that is somewhat too long for an id is not found, as in a path."""


def _without_controls(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise PydanticCustomError("control_characters", "must not contain control characters")
    return text


def _unicode(text: str) -> str:
    if not strict_json.is_unicode(text):
        raise PydanticCustomError("lone_surrogates", "must not contain lone surrogates")
    return text


def _one_line(text: str) -> str:
    return _without_controls(_unicode(text))


def _present(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "must not be null; leave it out instead")
    return value


def _form(form: re.Pattern[str], rule: str) -> AfterValidator:
    def check(text: str) -> str:
        if form.fullmatch(text) is None:
            raise PydanticCustomError("form", "{rule}", {"rule": rule})
        return text

    return AfterValidator(check)


def _fits(text: str) -> str:
    if len(text.encode()) > limits.CONTENT_MAX_BYTES:
        raise PydanticCustomError(_CONTENT_TOO_LARGE, _CONTENT_RULE)
    return text


_CONTENT_TOO_LARGE = "content_too_large"
_CONTENT_RULE = f"must be at most {limits.CONTENT_MAX_BYTES} bytes of UTF-8"

Path = Annotated[str, Field(max_length=limits.PATH_MAX_BYTES)]
"""Its grammar, and its size in bytes, are the core's to check."""
Content = Annotated[str, Field(max_length=limits.CONTENT_MAX_BYTES), AfterValidator(_fits)]
Instant = Annotated[str, Field(max_length=limits.INSTANT_MAX_CHARS)]
StoreId = Annotated[str, Field(max_length=STORE_ID_MAX_CHARS)]
"""Its form is the use case's to check: what is no id is not found."""
Name = Annotated[str, Field(min_length=1, max_length=limits.STORE_NAME_MAX_CHARS), AfterValidator(_without_controls)]
Description = Annotated[str, Field(max_length=limits.DESCRIPTION_MAX_CHARS)]
MetadataKey = Annotated[str, Field(min_length=1, max_length=limits.METADATA_KEY_MAX_CHARS)]
MetadataValue = Annotated[str, Field(max_length=limits.METADATA_VALUE_MAX_CHARS)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], Field(max_length=limits.METADATA_MAX_PAIRS)]
MetadataPatch = Annotated[dict[MetadataKey, MetadataValue | None], Field(max_length=2 * limits.METADATA_MAX_PAIRS)]
"""Removes all pairs a store can have and sets as many: what the store then holds is checked where it is known."""
Region = Annotated[str, Field(min_length=1, max_length=limits.REGION_MAX_CHARS)]
RuleId = Annotated[str, Field(min_length=1, max_length=limits.RULE_ID_MAX_CHARS)]
RuleIds = Annotated[list[RuleId], Field(max_length=limits.SCAN_ALLOW_MAX_RULES, fail_fast=True)]
ActorPart = Annotated[
    str,
    Field(max_length=ID_MAX_CHARS),
    _form(re.compile(r"[a-z0-9_]{1,80}"), "must be a part of an actor, as the API shows it"),
]
Actor = Annotated[dict[Annotated[str, Field(max_length=ID_MAX_CHARS)], ActorPart], Field(max_length=2)]
"""A type and an id."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class Body(BaseModel):
    """Base of the bodies below; by itself, the body of an operation that takes none.

    Every string, list and mapping has its limit here, so that checking one stops there: a fault of each item would be
    collected before a limit that is checked afterwards (`tests/unit/wire/test_request_bodies.py`).
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, sent: Any) -> Any:
        """Leave out a null where a field has another default: the two mean the same."""
        if not isinstance(sent, dict):
            return sent
        fields = cls.model_fields.items()
        given = {name for name, field in fields if not field.is_required() and field.default is not None}
        return {name: value for name, value in sent.items() if value is not None or name not in given}


Sources = Annotated[
    list[Annotated[str, Field(max_length=ID_MAX_CHARS), _form(ids.VERSION, "must be the id of a version")]],
    Field(max_length=limits.SOURCES_MAX, fail_fast=True),
]
"""The versions of the same store that a text was made of."""


class ConflictResolve(Body):
    """POST …/conflicts/{id}/resolve. `keep` is the statement_id of one side, or ``both``."""

    memory_version_ids: Annotated[
        list[Annotated[str, Field(max_length=ID_MAX_CHARS), _form(ids.VERSION, "must be the id of a version")]],
        Field(min_length=2, max_length=2, fail_fast=True),
    ]
    keep: Annotated[
        str,
        Field(max_length=ID_MAX_CHARS),
        _form(re.compile(f"both|{ids.STATEMENT.pattern}"), "must be the statement_id of one side, or 'both'"),
    ]


class RemarkBody(Body):
    """POST …/log."""

    text: Annotated[str, Field(min_length=1, max_length=limits.REMARK_MAX_CHARS)]


class MemoryCreate(Body):
    """POST …/memories. The grammar of the path and the size of the content are the core's to check."""

    path: Path
    content: Content
    sources: Sources | None = None
    max_trust: TrustName | None = None


class Precondition(Body):
    """What the memory's current content must be."""

    type: Literal["content_sha256"]
    content_sha256: Sha256


class MemoryUpdate(Body):
    """POST …/memories/{id}; names content, path or both."""

    content: Content | None = None
    path: Path | None = None
    precondition: Annotated[Precondition | None, AfterValidator(_present)] = None
    sources: Sources | None = None
    max_trust: TrustName | None = None


class Release(Body):
    """POST …/quarantine/{id}/release. Memolith's own."""

    reason: Annotated[str, Field(min_length=1, max_length=limits.RELEASE_REASON_MAX_CHARS), AfterValidator(_one_line)]


class WithheldText(Body):
    """Why a text was withheld, as a version tells it."""

    reason: Annotated[str, Field(max_length=limits.RELEASE_REASON_MAX_CHARS), AfterValidator(_one_line)]
    rules: RuleIds
    since: Instant | None = None


class VersionToImport(Body):
    """One version of POST …/memory_versions: what an answer tells of a version, without what is made here anew."""

    id: Annotated[str, Field(max_length=ID_MAX_CHARS), _form(ids.VERSION, "must be the id of a version")]
    memory_id: Annotated[str, Field(max_length=ID_MAX_CHARS), _form(ids.MEMORY, "must be the id of a memory")]
    operation: Literal["created", "modified", "deleted"]
    created_at: Instant
    created_by: Actor | None = None
    path: Path | None = None
    content: Content | None = None
    redacted_at: Instant | None = None
    redacted_by: Actor | None = None
    withheld: WithheldText | None = None
    trust: TrustName | Literal["unknown"] | None = None


class VersionsToImport(Body):
    """POST …/memory_versions. Memolith's own.

    With `max_trust` a version has the class that it tells, if that is no better; without, `imported`.
    """

    versions: Annotated[
        list[VersionToImport], Field(min_length=1, max_length=limits.IMPORT_MAX_VERSIONS, fail_fast=True)
    ]
    max_trust: TrustName | None = None


def imported_version(
    one: VersionToImport, field: str, importer: str, max_trust: TrustName | None = None
) -> ImportedVersion:
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
        trust=of_import(one.trust, max_trust),
    )


def _instant(text: str, field: str) -> int:
    try:
        instant_us = parse_rfc3339(text.upper())
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(field, "must be an RFC 3339 date and time with an offset") from error
    if not 0 <= instant_us <= LAST_US:
        raise InvalidRequest(field, "must be of the years 1970 to 9999 in UTC")
    return instant_us


def _actor(shown: dict[str, str], field: str) -> str:
    try:
        return actor_text(shown)
    except ValueError as error:
        raise InvalidRequest(field, "must be an actor as the API shows it") from error


B = TypeVar("B", bound=Body)


def parse(schema: type[B], body: bytes, objects_max: int = strict_json.OBJECTS_MAX) -> B:
    """Parse the body as `schema`.

    The faults that are collected before the first is told are few: a list ends at its first one, an object has at most
    `strict_json.FIELDS_MAX`.

    Raises:
        InvalidRequest: naming the first field at fault, or ``body``. It is `too_large` for a memory's content.
    """
    sent = strict_json.decode(body, objects_max)
    try:
        return schema.model_validate(sent)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=True)[0]
    location = _as_sent(first["loc"], sent)
    if first["type"].startswith("union_tag_"):
        location = (*location, "type")
    if location[-1:] == ("content",) and first["type"] in ("string_too_long", _CONTENT_TOO_LARGE):
        raise InvalidRequest(_field(location), _CONTENT_RULE, too_large=location == ("content",))
    raise InvalidRequest(_field(location), _rule(first))


def check_no_body(body: bytes) -> None:
    """Check that the body is empty or ``{}``, for an operation without a body.

    Anything else is refused rather than ignored: a precondition put into the body of a DELETE must not be lost.
    """
    if body.strip():
        parse(Body, body)


def _as_sent(location: tuple[int | str, ...], sent: Any) -> tuple[int | str, ...]:
    """Return the location without what the schema alone has: the tags by which it tells apart what a field may be."""
    kept: list[int | str] = []
    for number, part in enumerate(location, 1):
        if part in sent if isinstance(sent, dict) else isinstance(sent, list) and isinstance(part, int):
            sent = sent[part]
        elif number < len(location) or not isinstance(sent, dict):
            continue  # but not the last one in an object: it is missing there
        kept.append(part)
    return tuple(kept)


def _field(location: tuple[int | str, ...]) -> str:
    """Name a field: ``metadata.key`` for a fault of a key or its value; ``body`` for the body itself."""
    return ".".join(str(part)[: strict_json.NAME_MAX_CHARS] for part in location if part != "[key]") or "body"


_RULES = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "string_type": "must be a string",
    "string_unicode": "must not contain lone surrogates",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "is required",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must be at least {min_length} character long",
    "string_too_long": "must be at most {max_length} characters long",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} {items}",
    "literal_error": "must be {expected}",
    "string_pattern_mismatch": "must be 64 lower-case hexadecimal characters",
}


_ITEMS = {name: name for name in ("rules", "versions", "events", "edits", "entries", "paths", "inputs")} | {
    "allow": "rules",
    "sources": "versions",
    "resources": "memory stores",
    "memory_store_ids": "memory stores",
    "session_ids": "sessions",
}
"""What a list is of, by its field; what is no list has pairs."""


def _rule(error: ErrorDetails) -> str:
    template = _RULES.get(error["type"])
    items = _ITEMS.get(str((error["loc"] or ("",))[-1]), "pairs")
    rule = error["msg"] if template is None else template.format(**error.get("ctx", {}), items=items)
    if error["loc"][-1:] == ("[key]",):
        return f"as a key, {rule}"
    return rule
