"""``memolith regions remove``: nothing is changed before nothing can be lost, and each step can be repeated."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from memolith.adapters.aws.names import QUEUES
from memolith.adapters.memory import MemorySealing
from memolith.adapters.saved_keys import jwk_set, read_keys
from memolith.app.operations import operator
from memolith.app.operations.operator import Home
from memolith.clients.cli import main, region_addition, regions
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import DoneInPart, Exit
from memolith.core.errors import InvalidRequest
from memolith.ports.dead_letters import Depths
from tests.unit.clients.test_regions import Checkout

KEYS = Path("keys-ap-southeast-2.json")
FIRST, OTHER, OLD = "us-east-1", "eu-west-1", "ap-southeast-2"


class Cloud:
    """What the command asks of AWS, and what it is told; each call is written down in `calls`."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.homes: list[Home] = []
        self.behind_polls = 0
        self.seconds = 1_000.0
        self.stopped_us = 0
        self.left_at = 0.0
        self.depths = dict.fromkeys(QUEUES, Depths(0, 0, 0))
        self.late: dict[str, list[Depths]] = {}
        self.status = "UPDATE_COMPLETE"
        self.saved_at_deletion: str | None = None
        self.refused = ""

    def refuse(self, call: str, operation: str) -> None:
        """Answer as AWS answers whoever may not do it, if it is to be refused."""
        if call == self.refused:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}, operation)

    def put_function_concurrency(self, FunctionName: str, ReservedConcurrentExecutions: int) -> None:
        assert ReservedConcurrentExecutions == 0
        self.refuse(f"stop {FunctionName}", "PutFunctionConcurrency")
        self.stopped_us = self.now_us()
        self.calls.append(f"stop {FunctionName}")

    def describe_stacks(self, StackName: str) -> dict[str, Any]:
        assert StackName == f"memolith-dev-base-{OLD}"
        if not self.status:
            absent = {"Code": "ValidationError", "Message": f"Stack with id {StackName} does not exist"}
            raise ClientError({"Error": absent}, "DescribeStacks")  # type: ignore[typeddict-item]  # boto3 has types of its own
        return {"Stacks": [{"StackStatus": self.status}]}

    def delete_stack(self, StackName: str) -> None:
        self.refuse(f"delete {StackName}", "DeleteStack")
        if KEYS.exists():
            self.saved_at_deletion = KEYS.read_text()
        self.calls.append(f"delete {StackName}")

    def get_paginator(self, name: str) -> Any:
        assert name == "list_stack_resources"
        kinds = {"AWS::Lambda::Function": "memolith-dev-reader", "AWS::Route53::HealthCheck": "check-1"}
        pages = [
            {"StackResourceSummaries": [{"ResourceType": kind, "PhysicalResourceId": its}]}
            for kind, its in kinds.items()
        ]
        return SimpleNamespace(paginate=lambda StackName: pages if StackName == f"memolith-dev-base-{OLD}" else [])

    def update_health_check(self, HealthCheckId: str, Disabled: bool, Inverted: bool) -> None:
        assert Disabled and Inverted, "a check that is not made counts as passed, and its inversion as failed"
        self.left_at = self.seconds
        self.calls.append(f"fail {HealthCheckId}")

    def get_waiter(self, name: str) -> Any:
        return SimpleNamespace(wait=lambda StackName: self.calls.append(f"{name} {StackName}"))

    def watermark(self) -> int:
        """Complete only once the calls that had begun must have ended, and some polls later."""
        self.behind_polls -= 1
        return self.stopped_us if self.behind_polls >= 0 else self.stopped_us + 60_000_000

    def asked_for_depths(self, queue: str) -> Depths:
        """What stands in a queue; after the region was taken from the record, what it was told to say then, in turn."""
        later = self.late.get(queue)
        is_former = OLD in json.loads(regions.RECORD.read_text())["context"]["memolith"].get("former_regions", ())
        return later.pop(0) if later and is_former else self.depths[queue]

    def now_us(self) -> int:
        return int(self.seconds * 1_000_000)

    def pause(self, seconds: float) -> None:
        self.seconds += seconds


class Deployed(Target):
    """A target over `Cloud`, which stands for every client."""

    def site(self, region: str | None = None) -> Any:
        return region

    def dead_letters(self, region: str, queue: str) -> Any:
        assert self.deployment(region).region == OLD
        cloud: Any = self.clients.functions(region)
        return SimpleNamespace(depths=lambda: cloud.asked_for_depths(queue))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.chdir(tmp_path)
    made = Checkout(tmp_path)
    record = {
        "stage": "dev",
        "regions": [FIRST, OTHER, OLD],
        "guardrails": {OLD: {"id": "a", "version": "1"}},
        "alarms": {"topics": {OLD: "x", OTHER: "y"}},
    }
    made.record.write_text(json.dumps({"context": {"memolith": record}}))
    return made


@pytest.fixture
def cloud(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    made = Cloud()
    clients: Any = SimpleNamespace(**dict.fromkeys(("functions", "cloudformation", "route53"), lambda region: made))

    def found(aws: bool) -> Target:
        record = checkout.memolith
        former = tuple(record.get("former_regions", ()))
        return Deployed(clients, "dev", "111122223333", tuple(record["regions"]), "live", former)

    monkeypatch.setattr(regions, "find_target", found)
    sealing = MemorySealing(MemorySealing.keys_of((FIRST, OTHER, OLD)), OLD)
    monkeypatch.setattr("memolith.adapters.aws.sealing.KmsSealing", lambda clients, deployment: sealing)
    monkeypatch.setattr(regions, "SystemClock", lambda: made)
    monkeypatch.setattr(regions, "copy", lambda target, region, said_on: made.calls.append(f"fill {region}"))
    monkeypatch.setattr(
        region_addition, "declare_incomplete", lambda target, region: made.calls.append(f"incomplete {region}")
    )
    monkeypatch.setattr(operator, "homes", lambda region: iter(made.homes))
    status = SimpleNamespace
    monkeypatch.setattr(operator, "index_status", lambda region, queues: status(watermarks={OLD: made.watermark()}))
    return made


STOPPED = [f"stop memolith-dev-{name}" for name in ("writer", "peerwriter", "keys", "mcp")]
FILLED = [f"fill {FIRST}", f"fill {OTHER}"]
DELETED = [
    line
    for kind in ("mesh", "base")
    for line in (f"delete memolith-dev-{kind}-{OLD}", f"stack_delete_complete memolith-dev-{kind}-{OLD}")
]
INCOMPLETE = [f"incomplete {OLD}"]


def test_a_removed_region_takes_no_writes_is_copied_from_loses_its_stacks_and_leaves_incomplete_tables(
    checkout: Checkout, cloud: Cloud
) -> None:
    cloud.behind_polls = 4
    regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == STOPPED + FILLED + FILLED + DELETED + INCOMPLETE, (
        "also what the scanner put while the others were deployed"
    )
    assert cloud.seconds > 1_000
    assert checkout.commands() == [
        "synth --quiet",
        "deploy --all --import-existing-resources --require-approval never",
    ]
    assert checkout.memolith == {
        "stage": "dev",
        "regions": [FIRST, OTHER],
        "former_regions": [OLD],
        "guardrails": {},
        "alarms": {"topics": {OTHER: "y"}},
    }


def test_the_shared_name_leads_to_a_region_no_more_before_its_writers_are_stopped(
    checkout: Checkout, cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its reader still answers health checks, so that a stopped writer alone would get every write of its callers."""
    record = {**checkout.memolith, "routing": {"domain": "memory.example.com"}}
    checkout.record.write_text(json.dumps({"context": {"memolith": record}}))
    cloud.behind_polls = 10_000
    for _ in range(2):  # what stopped goes on
        cloud.calls.clear()
        with pytest.raises(DoneInPart, match="cannot say to have everything"):
            regions.remove(OLD, yes=True, aws=True)
        assert cloud.calls == ["fail check-1", *STOPPED]
        assert cloud.stopped_us >= (cloud.left_at + 3 * 30 + 60) * 1_000_000, (
            "three checks, and how long names are kept"
        )
    assert "memory.example.com" in (said := capsys.readouterr().out) and "check-1" in said


def test_a_removal_that_stops_says_how_to_start_its_writers_with_the_concurrency_of_the_record(
    checkout: Checkout, cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {**checkout.memolith, "limits": {"reserved_concurrency": {"writer": 100, "reader": 7}}}
    checkout.record.write_text(json.dumps({"context": {"memolith": record}}))
    cloud.behind_polls = 10_000
    with pytest.raises(DoneInPart, match="cannot say to have everything"):
        regions.remove(OLD, yes=True, aws=True)
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("aws lambda ")] == [
        "aws lambda put-function-concurrency --function-name memolith-dev-writer --reserved-concurrent-executions 100 "
        f"--region {OLD}",
        *(
            f"aws lambda delete-function-concurrency --function-name memolith-dev-{name} --region {OLD}"
            for name in ("peerwriter", "keys", "mcp")
        ),
    ]


def test_a_removal_that_may_not_stop_a_writer_names_the_right_and_has_said_how_to_start_the_others(
    checkout: Checkout, cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.refused = STOPPED[1]
    with pytest.raises(SystemExit) as ended:
        main.run(["regions", "remove", OLD, "--yes", "--aws"])
    assert (ended.value.code, cloud.calls) == (Exit.IN_PART, STOPPED[:1])
    out, err = capsys.readouterr()
    starting = [line for line in out.splitlines() if line.startswith("aws lambda delete-function-concurrency ")]
    assert len(starting) == len(STOPPED) and "--function-name memolith-dev-writer " in starting[0]
    assert f"memolith-dev-peerwriter in {OLD}" in err and "lambda:PutFunctionConcurrency" in err
    assert "AccessDeniedException" in err and "defect" not in err


def test_a_removal_that_may_not_delete_a_stack_names_the_right(
    checkout: Checkout, cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.refused = DELETED[2]
    with pytest.raises(SystemExit) as ended:
        main.run(["regions", "remove", OLD, "--yes", "--aws"])
    assert ended.value.code == Exit.IN_PART
    err = capsys.readouterr().err
    assert f"the stack memolith-dev-base-{OLD} was not deleted (AccessDeniedException)" in err
    assert "cloudformation:DeleteStack" in err and "defect" not in err


def test_the_public_keys_of_a_region_are_saved_before_its_own_are_deleted(checkout: Checkout, cloud: Cloud) -> None:
    regions.remove(OLD, yes=True, aws=True)
    assert cloud.saved_at_deletion is not None
    assert list(read_keys(KEYS)) == [OLD]
    assert json.loads(cloud.saved_at_deletion) == jwk_set(MemorySealing(MemorySealing.keys_of((OLD,)), OLD), [OLD])


def test_another_file_of_keys_is_not_overwritten_and_one_may_be_named(checkout: Checkout, cloud: Cloud) -> None:
    KEYS.write_text("{}")
    with pytest.raises(InvalidRequest, match=rf"--keys: {KEYS} is there"):
        regions.remove(OLD, yes=True, aws=True)
    assert (cloud.calls, KEYS.read_text()) == ([], "{}")
    with pytest.raises(InvalidRequest, match=r"--keys: absent/keys\.json cannot be written"):
        regions.remove(OLD, keys_file=Path("absent/keys.json"), yes=True, aws=True)
    checkout.fails.write_text("deploy")
    for _ in range(2):  # the second time it is there, with what would be written
        with pytest.raises(DoneInPart, match="run the same command again"):
            regions.remove(OLD, keys_file=Path("mine.json"), yes=True, aws=True)
    assert list(read_keys(Path("mine.json"))) == [OLD]


def test_as_json_a_removal_answers_with_one_value_and_what_it_does_goes_beside_it(
    checkout: Checkout, cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    regions.remove(OLD, yes=True, aws=True, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"region": OLD, "removed": True, "keys": str(KEYS)}


def test_a_region_that_others_do_not_have_all_of_stays(checkout: Checkout, cloud: Cloud) -> None:
    cloud.behind_polls = 10_000
    with pytest.raises(DoneInPart, match=f"{FIRST}, {OTHER} cannot say to have everything"):
        regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == STOPPED
    assert checkout.memolith["regions"] == [FIRST, OTHER, OLD]


def test_a_removal_that_stops_half_way_is_not_told_as_if_nothing_was_changed(
    checkout: Checkout, cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.behind_polls = 10_000
    with pytest.raises(SystemExit) as ended:
        main.run(["regions", "remove", OLD, "--yes", "--aws"])
    assert (ended.value.code, cloud.calls) == (Exit.IN_PART, STOPPED)
    said = capsys.readouterr().err
    assert "takes no writes meanwhile" in said and "What was done stays" in said
    assert "Nothing was changed" not in said


@pytest.mark.parametrize(
    ("home", "said"),
    [
        ({"home": OLD}, f"at home in {OLD}: `memolith homes move --from {OLD} --to {FIRST}`"),
        ({"home": OTHER, "moving_to": OLD}, f"at home in {OLD}"),
        ({"home": OTHER, "second_region": OLD}, f"second region of memstore_x: .* --second-region {FIRST}`"),
    ],
    ids=["home", "moving there", "second region"],
)
def test_a_region_that_a_store_needs_stays_and_takes_writes(
    checkout: Checkout, cloud: Cloud, home: dict[str, str], said: str
) -> None:
    fields = {"store_id": "memstore_x", "name": "x", "state": "settled", "epochs": (), "moving_to": None} | home
    cloud.homes = [Home(**fields)]  # type: ignore[arg-type]  # keywords of more than one type
    with pytest.raises(InvalidRequest, match=said):
        regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == []


def test_a_deleted_store_that_waits_for_its_erasure_needs_no_second_region(checkout: Checkout, cloud: Cloud) -> None:
    deleted = Home("memstore_x", "x", OTHER, "active", (), None, second_region=OLD, erase_after=1)
    cloud.homes = [deleted]
    regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == STOPPED + FILLED + FILLED + DELETED + INCOMPLETE


def test_the_first_region_is_refused_with_the_reason(checkout: Checkout, cloud: Cloud) -> None:
    with pytest.raises(InvalidRequest, match="secrets that sign session tokens"):
        regions.remove(FIRST, yes=True, aws=True)
    with pytest.raises(InvalidRequest, match="is not one of"):
        regions.remove("sa-east-1", yes=True, aws=True)
    assert cloud.calls == []


def test_what_stopped_after_the_record_was_changed_goes_on_there(checkout: Checkout, cloud: Cloud) -> None:
    checkout.fails.write_text("deploy")
    with pytest.raises(DoneInPart, match="run the same command again"):
        regions.remove(OLD, yes=True, aws=True)
    cloud.calls.clear()
    checkout.fails.write_text("")
    regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == FILLED + DELETED + INCOMPLETE
    assert checkout.commands()[-1].startswith("deploy --all")


@pytest.mark.parametrize("queue", QUEUES)
def test_a_region_with_a_dead_letter_stays_and_takes_writes(checkout: Checkout, cloud: Cloud, queue: str) -> None:
    cloud.depths[queue] = Depths(0, 0, 1)
    with pytest.raises(InvalidRequest, match=rf"memolith-dev-{queue}-dlq.* holds 1 .*index redrive --region {OLD}"):
        regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == []
    assert checkout.memolith["regions"] == [FIRST, OTHER, OLD]


def test_a_request_that_became_a_dead_letter_meanwhile_keeps_the_stacks_until_it_is_done(
    checkout: Checkout, cloud: Cloud
) -> None:
    cloud.late["scan"] = [Depths(0, 1, 0), Depths(0, 0, 1)]
    with pytest.raises(DoneInPart, match="memolith-dev-scan-dlq"):
        regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == STOPPED + FILLED
    regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == STOPPED + FILLED + FILLED + DELETED + INCOMPLETE


def test_the_stacks_stay_until_every_queue_was_empty_for_as_long_as_counts_may_be_late(
    checkout: Checkout, cloud: Cloud
) -> None:
    cloud.late["scan"] = [Depths(3, 0, 0), Depths(0, 0, 0), Depths(0, 2, 0)]
    regions.remove(OLD, yes=True, aws=True)
    assert cloud.seconds == 1_000 + 30 + 60 + 120, "and two ticks more, in which what the scanner put last is sealed"
    assert cloud.calls[-5:] == DELETED + INCOMPLETE


def test_a_queue_that_is_not_worked_off_keeps_the_stacks_and_is_named(checkout: Checkout, cloud: Cloud) -> None:
    cloud.late["pack"] = [Depths(2, 1, 0)] * 10_000
    with pytest.raises(DoneInPart, match=r"memolith-dev-pack .*3 messages.*run the same command again"):
        regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == STOPPED + FILLED


@pytest.mark.parametrize("status", ["", "DELETE_FAILED"])
def test_a_deletion_that_stopped_goes_on_although_its_queues_are_gone(
    checkout: Checkout, cloud: Cloud, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    regions.remove(OLD, yes=True, aws=True)
    cloud.calls.clear()
    cloud.status, cloud.depths = status, {}
    regions.remove(OLD, yes=True, aws=True)
    assert cloud.calls == DELETED + INCOMPLETE


def test_a_record_that_the_app_refuses_is_put_back(checkout: Checkout, cloud: Cloud) -> None:
    before = checkout.record.read_text()
    checkout.fails.write_text("synth")
    with pytest.raises(DoneInPart, match="as it was"):
        regions.remove(OLD, yes=True, aws=True)
    assert checkout.record.read_text() == before
