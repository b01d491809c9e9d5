"""What runs while the stack deploys: the right call, in the shape that AWS takes, and always an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from infra.constructs.replication import replication_rules
from infra.custom_resources import control_row, replication
from infra.custom_resources.respond import REASON_CHARACTERS_MAX, answer
from infra.deployment import parse
from memolith.adapters.memory import ManualClock
from memolith.core.object_keys import LOCAL_PREFIX, CheckpointKey
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from tests.infra.synthesized import FAR, HERE, THERE, record
from tests.support.cloud import Cloud

FAKE = boto3.Session(region_name=HERE, aws_access_key_id="x", aws_secret_access_key="x")
ROLE = f"arn:aws:iam::111122223333:role/memolith-test-replication-{HERE}"


def as_cloudformation_sends_it(value: Any) -> Any:
    """CloudFormation hands numbers and booleans to a custom resource as text."""
    if isinstance(value, Mapping):
        return {key: as_cloudformation_sends_it(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_cloudformation_sends_it(inner) for inner in value]
    return str(value)


@pytest.mark.parametrize("request_type", ["Create", "Update"])
@pytest.mark.parametrize("time_control", [True, False])
def test_the_rules_reach_s3_in_its_own_types(request_type: str, time_control: bool) -> None:
    deployment = parse(record(HERE, THERE, FAR, replication_time_control=time_control))
    rules = replication_rules(deployment, HERE)
    properties = as_cloudformation_sends_it({"Bucket": "b", "Role": ROLE, "Rules": rules})
    s3 = FAKE.client("s3")
    with Stubber(s3) as stub:
        stub.add_response(
            "put_bucket_replication",
            {},
            {"Bucket": "b", "ReplicationConfiguration": {"Role": ROLE, "Rules": rules}},
        )
        replication.apply(s3, request_type, properties)
        stub.assert_no_pending_responses()


def test_the_rules_go_with_the_stack() -> None:
    s3 = FAKE.client("s3")
    with Stubber(s3) as stub:
        stub.add_response("delete_bucket_replication", {}, {"Bucket": "b"})
        replication.apply(s3, "Delete", {"Bucket": "b", "Role": ROLE, "Rules": []})
        stub.assert_no_pending_responses()


def test_a_bucket_that_is_gone_does_not_hold_the_stack() -> None:
    s3 = FAKE.client("s3")
    with Stubber(s3) as stub:
        stub.add_client_error("delete_bucket_replication", "NoSuchBucket", http_status_code=404)
        replication.apply(s3, "Delete", {"Bucket": "b", "Role": ROLE, "Rules": []})
        stub.assert_no_pending_responses()


class Buckets:
    """The S3 of every region of a cloud in memory, as far as a listing by folders goes."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self.asked = 0

    def of(self, region: str) -> Buckets:
        """Every region's client sees every bucket."""
        assert region in self._cloud.regions
        return self

    def list_objects_v2(self, Bucket: str, Delimiter: str, Prefix: str = "", MaxKeys: int = 1000) -> Any:
        self.asked += 1
        keys = self._cloud.sites[Bucket].region.objects.list(Prefix).keys
        assert len(keys) < 1000, "the listing below is one page"
        folders = (key.removeprefix(Prefix).partition(Delimiter) for key in keys)
        names = list(dict.fromkeys(Prefix + first + delimiter for first, delimiter, _ in folders))[:MaxKeys]
        return {
            "Contents": [{"Key": name} for name in names if not name.endswith(Delimiter)],
            "CommonPrefixes": [{"Prefix": name} for name in names if name.endswith(Delimiter)],
        }


class ControlTables:
    """The DynamoDB of every region, as far as its control table goes: what was put where there was no row, and which
    rows were declared incomplete."""

    def __init__(self, *rows: str, after_put: Callable[[str], None] = lambda region: None) -> None:
        self.put: dict[str, Any] = {}
        self.declared: list[str] = []
        self._rows = set(rows)
        self._after_put = after_put

    def of(self, region: str) -> Any:
        dynamodb: Any = FAKE.client("dynamodb")

        def put_item(TableName: str, Item: Any, ConditionExpression: str) -> None:
            assert (TableName, ConditionExpression) == ("t", "attribute_not_exists(pk)")
            if region in self._rows:
                raise dynamodb.exceptions.ConditionalCheckFailedException({}, "PutItem")
            self._rows.add(region)
            self.put[region] = Item
            self._after_put(region)

        def update_item(**asked: Any) -> None:
            assert asked == {
                "TableName": "t",
                "Key": {"pk": {"S": ControlRow.KEY.pk}, "sk": {"S": ControlRow.KEY.sk}},
                "UpdateExpression": "SET complete = :no",
                "ExpressionAttributeValues": {":no": {"BOOL": False}},
            }
            assert region in self._rows
            self.declared.append(region)

        dynamodb.put_item, dynamodb.update_item = put_item, update_item
        return dynamodb

    def completeness(self) -> dict[str, bool]:
        return {region: row["complete"]["BOOL"] for region, row in self.put.items()}


def properties_of(cloud: Cloud) -> dict[str, Any]:
    """What a stack says of this cloud's regions, whose generations are 3, 4 and on."""
    numbered = enumerate(cloud.regions, start=3)
    regions = [{"Region": one, "Bucket": one, "Generation": str(number)} for number, one in numbered]
    return {"Regions": regions, "Table": "t"}


def completeness(cloud: Cloud) -> bool:
    """Say what the first control rows of this cloud would say now."""
    tables, buckets = ControlTables(), Buckets(cloud)
    control_row.apply(buckets.of, tables.of, "Create", properties_of(cloud))
    assert {region: row["serving"] for region, row in tables.put.items()} == {HERE: {"N": "3"}, THERE: {"N": "4"}}
    assert buckets.asked <= len(cloud.regions) * (1 + len(cloud.regions))
    (complete,) = set(tables.completeness().values())
    return complete


def deployed_and_idle(rows: Sequence[str]) -> Cloud:
    """Two regions whose reconcilers tick for more than an hour; only in `rows` the control row is put already."""
    clock = ManualClock()
    cloud = Cloud((HERE, THERE), clock=clock)
    for name in set(cloud.regions) - set(rows):
        index = cloud.sites[name].region.index
        index.commit([Change(ControlRow.KEY, index.read([ControlRow.KEY])[ControlRow.KEY], None)])
    for _ in range(70):
        clock.advance(60)
        for site in cloud.sites.values():
            site.reconciling.tick()
        cloud.deliver()
    return cloud


@pytest.mark.parametrize("rows", [(), (HERE,), (HERE, THERE)])
def test_the_first_row_is_complete_though_the_reconcilers_ticked_in_an_empty_deployment(rows: Sequence[str]) -> None:
    cloud = deployed_and_idle(rows)
    kept = {key.split("/")[1] for name in cloud.regions for key in cloud.sites[name].region.objects.list("").keys}
    assert kept == {"checkpoint", "witness"} if rows else {"checkpoint"}, "the ticks put what this is about"
    assert completeness(cloud)


def test_the_first_row_is_complete_where_nothing_was_put() -> None:
    assert completeness(Cloud((HERE, THERE)))


@pytest.mark.parametrize("holder", [HERE, THERE])
@pytest.mark.parametrize("writer", [HERE, THERE, FAR])
@pytest.mark.parametrize("kind", sorted({"log", "store", "key", "session", "a-later-one"}))
def test_the_first_row_is_incomplete_where_one_bucket_holds_one_record(holder: str, writer: str, kind: str) -> None:
    cloud = Cloud((HERE, THERE))
    for region in (HERE, THERE):
        cloud.sites[holder].region.objects.put_if_absent(str(CheckpointKey(region, 1)), b"", {})
    assert completeness(cloud)
    cloud.sites[holder].region.objects.put_if_absent(f"{writer}/{kind}/one", b"", {})
    assert not completeness(cloud)


def test_the_first_row_is_incomplete_where_a_bucket_holds_something_beside_the_regions() -> None:
    cloud = Cloud((HERE, THERE))
    cloud.sites[THERE].region.objects.put_if_absent("by-hand", b"", {})
    assert not completeness(cloud)


def test_what_the_first_row_looks_past_is_what_the_functions_call_so() -> None:
    assert control_row.LOCAL == LOCAL_PREFIX
    assert str(CheckpointKey(HERE, 1)).startswith(f"{HERE}/{control_row.CHECKPOINTS}")


def test_every_region_begins_complete_though_a_caller_writes_as_soon_as_one_has_its_row() -> None:
    cloud = Cloud((HERE, THERE, FAR))

    def written(region: str) -> None:
        cloud.sites[region].region.objects.put_if_absent(f"{region}/store/one", b"", {})

    tables = ControlTables(after_put=written)
    control_row.apply(Buckets(cloud).of, tables.of, "Create", properties_of(cloud))
    assert tables.completeness() == {HERE: True, THERE: True, FAR: True}


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_rows_that_are_there_are_left_alone_and_a_region_that_joins_records_begins_incomplete(
    request_type: str,
) -> None:
    cloud = Cloud((HERE, THERE, FAR))
    cloud.sites[HERE].region.objects.put_if_absent(f"{HERE}/store/one", b"", {})
    tables = ControlTables(HERE, THERE)
    control_row.apply(Buckets(cloud).of, tables.of, request_type, properties_of(cloud))
    assert tables.completeness() == {FAR: False}


def before(*regions: str) -> dict[str, Any]:
    """What the stack said before it was updated."""
    return {"Regions": [{"Region": region} for region in regions], "Table": "t"}


def test_a_region_that_returns_with_its_old_row_is_incomplete_where_there_are_records() -> None:
    cloud = Cloud((HERE, THERE, FAR))
    cloud.sites[HERE].region.objects.put_if_absent(f"{HERE}/key/one", b"", {})
    tables = ControlTables(HERE, THERE, FAR)
    control_row.apply(Buckets(cloud).of, tables.of, "Update", properties_of(cloud), before(HERE, THERE))
    assert (tables.declared, tables.put) == ([FAR], {})


def test_cloudformation_says_which_regions_there_were_before(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud((HERE, THERE, FAR))
    cloud.sites[HERE].region.objects.put_if_absent(f"{HERE}/key/one", b"", {})
    buckets, tables, told = Buckets(cloud), ControlTables(HERE, THERE, FAR), list[bytes]()
    made = {"s3": buckets.of, "dynamodb": tables.of}
    monkeypatch.setattr(boto3, "client", lambda service, region_name: made[service](region_name))
    monkeypatch.setattr("infra.custom_resources.respond._put", lambda url, body: told.append(body))
    properties = {"ResourceProperties": properties_of(cloud), "OldResourceProperties": before(HERE, FAR)}
    control_row.handler({**EVENT, **properties}, None)
    assert (json.loads(told[0])["Status"], tables.declared) == ("SUCCESS", [THERE])


@pytest.mark.parametrize(
    ("request_type", "old"),
    [
        ("Update", before(HERE, THERE, FAR)),
        ("Update", {"Buckets": [], "Table": "t", "Generation": "1"}),
        ("Create", {}),
    ],
    ids=["no region is new", "an earlier release named no regions", "every stack is made again over what stayed"],
)
def test_the_row_of_a_region_that_was_there_stays_complete(request_type: str, old: Mapping[str, Any]) -> None:
    cloud = Cloud((HERE, THERE, FAR))
    cloud.sites[HERE].region.objects.put_if_absent(f"{HERE}/key/one", b"", {})
    tables = ControlTables(HERE, THERE, FAR)
    control_row.apply(Buckets(cloud).of, tables.of, request_type, properties_of(cloud), old)
    assert tables.declared == []


def test_a_region_that_returns_with_its_old_row_stays_complete_where_there_are_no_records() -> None:
    cloud, tables = Cloud((HERE, THERE)), ControlTables(HERE, THERE)
    control_row.apply(Buckets(cloud).of, tables.of, "Update", properties_of(cloud), before(HERE))
    assert tables.declared == []


def test_the_rows_stay_when_the_stack_goes() -> None:
    control_row.apply(lambda region: pytest.fail(region), lambda region: pytest.fail(region), "Delete", {})


EVENT = {
    "RequestType": "Update",
    "ResponseURL": "https://answers.invalid/here",
    "StackId": "stack",
    "RequestId": "request",
    "LogicalResourceId": "resource",
    "ResourceProperties": {"Bucket": "b"},
}


def answered(act: Any, pause: Callable[[float], None] = lambda seconds: None) -> dict[str, Any]:
    sent: list[tuple[str, bytes]] = []
    answer(EVENT, "it", act, lambda url, body: sent.append((url, body)), pause)
    ((url, body),) = sent
    assert url == EVENT["ResponseURL"]
    said: dict[str, Any] = json.loads(body)
    return said


def test_success_is_answered_under_the_same_name_as_ever() -> None:
    seen: list[tuple[str, Mapping[str, Any]]] = []
    assert answered(lambda request, properties: seen.append((request, properties))) == {
        "Status": "SUCCESS",
        "Reason": "",
        "PhysicalResourceId": "it",
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "resource",
    }
    assert seen == [("Update", {"Bucket": "b"})]


def test_every_failure_is_answered_with_its_reason() -> None:
    def fail(_request: str, _properties: Mapping[str, Any]) -> None:
        raise LookupError("x" * 5_000)

    said = answered(fail)
    assert said["Status"] == "FAILED"
    assert said["Reason"].startswith("LookupError: xxx")
    assert len(said["Reason"]) == REASON_CHARACTERS_MAX


def denied(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "not authorized"}}, "PutItem")


@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException"])
def test_what_a_role_made_seconds_ago_may_not_do_yet_is_tried_again(code: str) -> None:
    refusals, pauses = [denied(code), denied(code)], list[float]()

    def act(_request: str, _properties: Mapping[str, Any]) -> None:
        if refusals:
            raise refusals.pop()

    assert answered(act, pauses.append)["Status"] == "SUCCESS"
    assert len(pauses) == 2


def test_what_is_still_denied_after_a_minute_is_answered_with_its_reason() -> None:
    pauses = list[float]()

    def act(_request: str, _properties: Mapping[str, Any]) -> None:
        raise denied("AccessDenied")

    said = answered(act, pauses.append)
    assert said["Status"] == "FAILED"
    assert "AccessDenied" in said["Reason"]
    assert 55 <= sum(pauses) <= 65


def test_another_error_of_aws_is_answered_at_once() -> None:
    def act(_request: str, _properties: Mapping[str, Any]) -> None:
        raise denied("NoSuchBucket")

    assert answered(act, lambda seconds: pytest.fail("waited"))["Status"] == "FAILED"
