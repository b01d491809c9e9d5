"""The bodies of requests and the arguments of tools: each has its limits where it is described, and stops there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from memolith.core.errors import InvalidRequest
from memolith.wire.dream_bodies import DreamCreate
from memolith.wire.key_bodies import KeyCreate
from memolith.wire.mcp import schemas
from memolith.wire.proposal_bodies import ProposalOpen
from memolith.wire.request_bodies import Body, MemoryCreate, MemoryUpdate, VersionsToImport, parse
from memolith.wire.session_bodies import SessionCreate
from memolith.wire.store_bodies import ScanPolicy, StoreCreate, StoreUpdate
from memolith.wire.strict_json import OBJECTS_MAX
from memolith.wire.transcript_bodies import ExtractBody

LET_PASS = {"agent", "environment_id", "vault_ids", "SentEvent"}
"""Fields of a managed agent's session that nothing looks into, and an event, which is kept as it came: bytes and
objects of its body have a limit."""


def described(base: type[BaseModel]) -> list[type[BaseModel]]:
    found = [base]
    for one in base.__subclasses__():
        found += described(one)
    return found


def unbounded(schema: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """The names of the texts, lists and mappings in a JSON schema that have no limit."""
    if schema.get("type") == "string" and not {"maxLength", "pattern", "const", "enum"} & set(schema):
        yield name
    if schema.get("type") == "array":
        if "maxItems" not in schema:
            yield name
        yield from unbounded(schema["items"], f"{name}[]")
    extra = name not in LET_PASS and schema.get("additionalProperties", False)
    if isinstance(extra, Mapping):
        if "maxProperties" not in schema or "maxLength" not in schema.get("propertyNames", {}):
            yield name
        yield from unbounded(extra, f"{name}{{}}")
    elif extra:
        yield name
    for field, inner in schema.get("properties", {}).items():
        kinds = {"type", "anyOf", "$ref", "const", "enum"}
        if not kinds & set(inner) and field not in LET_PASS:
            yield f"{name}.{field}"
        yield from unbounded(inner, f"{name}.{field}")
    for inner in schema.get("anyOf", []):
        yield from unbounded(inner, name)
    for title, inner in schema.get("$defs", {}).items():
        yield from unbounded(inner, title)


@pytest.mark.parametrize("model", [*described(Body), *described(schemas.Arguments)], ids=lambda model: model.__name__)
def test_every_text_list_and_mapping_that_a_caller_sends_has_a_limit(model: type[BaseModel]) -> None:
    assert list(unbounded(model.model_json_schema(), model.__name__)) == []


def test_the_search_for_what_has_no_limit_finds_it() -> None:
    class Loose(BaseModel):
        text: str
        items: list[int]
        pairs: dict[str, int]
        anything: Any

    assert list(unbounded(Loose.model_json_schema())) == [".text", ".items", ".pairs", ".anything"]


@pytest.mark.parametrize(
    ("schema", "body", "message"),
    [
        (SessionCreate, {"resources": [1] * 300_000}, "resources.0: must be an object"),
        (
            SessionCreate,
            {"resources": [{"type": "memory_store", "memory_store_id": "x"}] * 9},
            "resources: must have at most 8 memory stores",
        ),
        (SessionCreate, {"resources": []}, "resources: must not be empty"),
        (
            StoreCreate,
            {"name": "n", "scan_policy": {"allow": ["r"] * 65}},
            "scan_policy.allow: must have at most 64 rules",
        ),
        (StoreCreate, {"name": "n", "scan_policy": {"allow": [1] * 300_000}}, "scan_policy.allow.0: must be a string"),
        (
            StoreCreate,
            {"name": "n", "metadata": {str(n): "" for n in range(17)}},
            "metadata: must have at most 16 pairs",
        ),
        (StoreUpdate, {"approval": {"paths": [{"prefix": "/a/"}] * 17}}, "approval.paths: must have at most 16 paths"),
        (ProposalOpen, {"edits": [{"op": "delete", "path": "/a"}] * 61}, "edits: must have at most 60 edits"),
        (VersionsToImport, {"versions": [0] * 300_000}, "versions.0: must be an object"),
        (ScanPolicy, {"allow": [{}] * (OBJECTS_MAX + 1)}, "body: must have at most 1,000 objects"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_too_much_is_told_by_field_and_rule(schema: type[Body], body: object, message: str) -> None:
    with pytest.raises(InvalidRequest) as told:
        parse(schema, json.dumps(body).encode())
    assert told.value.message == message


def parsed(model: type[BaseModel], sent: Mapping[str, Any]) -> object:
    """What a body says, or the faults for which it is refused."""
    try:
        return model.model_validate(sent).model_dump()
    except ValidationError as error:
        return [(fault["loc"], fault["type"]) for fault in error.errors()]


OPTIONAL = [
    (model, name)
    for model in described(Body)
    for name, field in model.model_fields.items()
    if not field.is_required() and name != "precondition"
]


@pytest.mark.parametrize(("model", "name"), OPTIONAL, ids=lambda value: getattr(value, "__name__", value))
def test_null_means_the_same_as_leaving_a_field_out(model: type[Body], name: str) -> None:
    assert parsed(model, {name: None}) == parsed(model, {})


def test_null_is_refused_where_a_field_is_needed_and_where_it_could_hide_a_mistake() -> None:
    for model, sent, message in (
        (MemoryCreate, {"path": "/a", "content": None}, "content: must be a string"),
        (MemoryUpdate, {"precondition": None}, "precondition: must not be null; leave it out instead"),
        (
            SessionCreate,
            {"resources": [{**STORE, "memory_store_id": None}]},
            "resources.0.memory_store_id: must be a string",
        ),
        (SessionCreate, {"resources": [{**STORE, "more": None}]}, "resources.0.more: is not a field of this request"),
    ):
        with pytest.raises(InvalidRequest) as told:
            parse(model, json.dumps(sent).encode())
        assert told.value.message == message


def test_the_defaults_that_are_something_else_than_null_are_found() -> None:
    given = {(model, name) for model, name in OPTIONAL if model.model_fields[name].default is not None}
    assert {(KeyCreate, "scope"), (ExtractBody, "again"), (SessionCreate, "token_lifetime_seconds")} < given


STORE = {"type": "memory_store", "memory_store_id": "memstore_1"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": 5}, "model: must be a string"),
        ({"model": ""}, "model: must be at least 1 character long"),
        ({"model": {"id": 5}}, "model.id: must be a string"),
        ({"model": {"speed": "standard"}}, "model.id: is required"),
        ({"inputs": [5]}, "inputs.0: must be an object"),
        ({"inputs": [STORE, {"type": "pipes"}]}, "inputs.1.type: must be one of 'memory_store', 'sessions'"),
        ({"inputs": [{}]}, "inputs.0.type: is required"),
        ({"inputs": [{"type": "memory_store"}]}, "inputs.0.memory_store_id: is required"),
        ({"inputs": [STORE, {"type": "sessions", "session_ids": []}]}, "inputs.1.session_ids: must not be empty"),
        ({"inputs": [STORE, {"type": "sessions", "session_ids": [5]}]}, "inputs.1.session_ids.0: must be a string"),
        ({"inputs": [STORE | {"more": 1}]}, "inputs.0.more: is not a field of this request"),
        ({"output_behavior": {}}, "output_behavior.type: is required"),
        ({"output_behavior": {"type": "update_existing"}}, "output_behavior.memory_store_id: is required"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_field_that_may_be_one_of_several_things_is_named_as_it_was_sent(
    body: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequest) as told:
        parse(DreamCreate, json.dumps({"inputs": [STORE], "model": "small", **body}).encode())
    assert told.value.message == message


@pytest.mark.parametrize(
    ("model", "speed"),
    [("small", None), ({"id": "small"}, None), ({"id": "small", "speed": "standard"}, "standard")],
    ids=str,
)
def test_a_model_is_its_id_or_an_object(model: object, speed: str | None) -> None:
    asked = parse(DreamCreate, json.dumps({"inputs": [STORE], "model": model}).encode()).request()
    assert (asked.model, asked.speed) == ("small", speed)


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        (SessionCreate, {"resources": [{}] * 900}),
        (StoreCreate, {"name": "n", "scan_policy": {"allow": [1] * 300_000}}),
        (VersionsToImport, {"versions": [{"x": 1}] * 900}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_faults_that_are_collected_are_no_more_than_one_item_has(
    schema: type[Body], body: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of each of 340,000 items took two seconds and 700 MB to collect, before the first was told."""
    collected: list[int] = []
    validate = schema.model_validate

    def counting(value: object) -> BaseModel:
        try:
            return validate(value)
        except ValidationError as error:
            collected.append(error.error_count())
            raise

    monkeypatch.setattr(schema, "model_validate", counting)
    with pytest.raises(InvalidRequest):
        parse(schema, json.dumps(body).encode())
    assert [count <= 10 for count in collected] == [True]
