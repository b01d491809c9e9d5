"""``memolith regions remove``: what has to be so before a region goes, and in which order it goes.

    its public keys are saved -> the shared name leads there no more -> nobody writes there
    -> every other region has all of it -> cdk.json -> deploy -> its queues are empty
    -> every other region has what came of that -> delete its stacks

What the region wrote stays in every other bucket under its name, and goes on there. So the three things that would lose
something are refused: a store that is still at home there, another region that does not know to have everything, and
a message in one of its queues. No other region scans what was written there, so a request for it would be lost for
good. The key that signed its checkpoints goes with its stack, and without the public half nobody could check them.
Each step can be repeated. The bucket and the tables of the region stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memolith.adapters.aws.names import DREAM_QUEUE, QUEUES
from memolith.adapters.saved_keys import jwk_set
from memolith.app.operations import operator
from memolith.clients.cli.deployment_target import Target
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.sync_replica import next_region
from memolith.ports.clock import Clock

WRITERS = ("writer", "peerwriter", "keys", "mcp")
"""The functions that write for callers."""

NAME_KEPT_S = 180
"""How long callers may follow a shared name to a region whose health check fails from now on: three checks of 30
seconds, the minute for which they keep an address, and half a minute until Route 53 has learned of it.
"""

LAST_CALL_S = 60
"""After their functions were stopped, calls that had begun have ended: no function may run for longer."""

POLLS_S = 10
POLLS = 180
"""Half an hour in all: a checkpoint is made every minute, and S3 copies within fifteen."""

EMPTY_POLLS = 7
"""A minute: so late SQS may count a message, and so long one to the packer is delayed and not counted at all.
Source: Amazon SQS API Reference, GetQueueAttributes."""

SEALING_TICKS = 2
"""One closes the period in which something was acknowledged, and the next one puts its checkpoint."""

PER_REGION = (("guardrails",), ("rerankers",), ("index_generation",), ("alarms", "topics"))
"""What in the record names regions, beside the lists of them."""


def check_record(record: Mapping[str, Any], region: str) -> None:
    """Refuse a region that cannot be removed.

    Raises:
        InvalidRequest: it is none of the deployment's, the only one, or the first.
    """
    regions = record["regions"]
    if region not in regions:
        raise InvalidRequest("region", f"{region} is not one of {', '.join(regions)}")
    if region == regions[0]:
        raise InvalidRequest(
            "region",
            f"{region} is the first of the deployment: the secrets that sign session tokens are made there, and would "
            "go with it. Keep it, without stores (`memolith homes move --from`), or make a new deployment",
        )


def save_keys(target: Target, region: str, path: Path) -> None:
    """Write the region's public keys to a file, as ``memolith audit keys`` prints them. Repeatable. One request.

    Raises:
        InvalidRequest: there is another file, or it cannot be written. Unavailable.
    """
    from memolith.adapters.aws.sealing import KmsSealing

    text = json.dumps(jwk_set(KmsSealing(target.clients, target.deployment(region)), [region])) + "\n"
    try:
        with path.open("x") as opened:
            opened.write(text)
    except FileExistsError:
        if path.read_text() != text:
            raise InvalidRequest("--keys", f"{path} is there and has something else: name another file") from None
    except OSError as error:
        raise InvalidRequest("--keys", f"{path} cannot be written: {error.strerror}") from error


def check_stores(target: Target, region: str) -> None:
    """Refuse to remove a region that stores still need, by what each other region knows.

    A deleted store that waits for its erasure takes no writes, and no other second region either; restored later, it
    has the next one.

    Raises:
        InvalidRequest: a store is at home there, moves there, or has its second region there. Unavailable.
    """
    for other in _others(target, region):
        for home in operator.homes(target.site(other)):
            if region in (home.home, home.moving_to):
                raise InvalidRequest(
                    "region",
                    f"{home.store_id} is at home in {region}: `memolith homes move --from {region} --to {other}` "
                    "moves every store that is",
                )
            if home.second_region == region and home.erase_after is None:
                another = next_region(home.home, _others(target, region))
                change = f"--second-region {another}` names another"
                raise InvalidRequest(
                    "region",
                    f"{region} is the second region of {home.store_id}: `memolith stores update {home.store_id} "
                    + (change if another else "--durability one_region` goes without"),
                )


def leave_name(target: Target, stage: str, region: str) -> list[str]:
    """Have Route 53 lead no caller to the region, `NAME_KEPT_S` from now on. Repeatable. Return the health checks.

    A check that is disabled counts as passed, and one that is inverted, too, as failed: so it stays, whatever the
    region answers, until the check is deleted with its stack. Source: Amazon Route 53 API Reference, UpdateHealthCheck.

    Raises:
        Unavailable: CloudFormation does not name the check, or Route 53 does not change it.
    """
    from memolith.adapters.aws.errors import AwsError, code_of

    try:
        listed = target.clients.cloudformation(region).get_paginator("list_stack_resources")
        checks = [
            one["PhysicalResourceId"]
            for page in listed.paginate(StackName=f"memolith-{stage}-base-{region}")
            for one in page["StackResourceSummaries"]
            if one["ResourceType"] == "AWS::Route53::HealthCheck"
        ]
        for check in checks:
            target.clients.route53(region).update_health_check(HealthCheckId=check, Disabled=True, Inverted=True)
    except AwsError as error:
        raise Unavailable(
            f"the health check of {region} was not made to fail ({code_of(error)}), so callers still come there: you "
            "need cloudformation:ListStackResources and route53:UpdateHealthCheck; then run the same command again"
        ) from error
    return checks


def stop_writers(target: Target, region: str) -> None:
    """Let no function start in the region that writes for callers. Repeatable. One request for each.

    Raises:
        Unavailable: Lambda does not stop one; those before it are stopped.
    """
    from memolith.adapters.aws.errors import AwsError, code_of

    lambdas = target.clients.functions(region)
    for name in WRITERS:
        function = target.deployment(region).function(name).partition(":")[0]
        try:
            lambdas.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
        except AwsError as error:
            raise Unavailable(
                f"the function {function} in {region} was not stopped ({code_of(error)}), so it may take writes: you "
                "need lambda:PutFunctionConcurrency; then run the same command again"
            ) from error


def starting_again(target: Target, record: Mapping[str, Any], region: str) -> list[str]:
    """Return the commands that take `stop_writers` back: each function has the concurrency of the record again."""
    reserved = record.get("limits", {}).get("reserved_concurrency", {})
    commands = []
    for name in WRITERS:
        verb, number = (
            ("put", f" --reserved-concurrent-executions {reserved[name]}") if name in reserved else ("delete", "")
        )
        function = target.deployment(region).function(name).partition(":")[0]
        commands.append(f"aws lambda {verb}-function-concurrency --function-name {function}{number} --region {region}")
    return commands


def await_everything(target: Target, region: str, stopped_us: int, clock: Clock) -> None:
    """Return once every other region knows that it has all that was acknowledged in the region.

    Raises:
        Unavailable: one does not know so after half an hour; nothing of the deployment was changed.
    """
    enough_us = stopped_us + LAST_CALL_S * 1_000_000
    waiting = list(_others(target, region))
    for _ in range(POLLS):
        waiting = [other for other in waiting if _known_until(target, other, region) < enough_us]
        if not waiting:
            return
        clock.pause(POLLS_S)
    raise Unavailable(
        f"{', '.join(waiting)} cannot say to have everything that was written in {region}: see `memolith index status` "
        f"and docs/operations/watermark.md, then run the same command again. {region} takes no writes meanwhile"
    )


def check_dead_letters(target: Target, record: Mapping[str, Any], region: str) -> dict[str, int]:
    """Return how many messages wait in each of the region's queues, or are worked on. Two requests a queue.

    Raises:
        InvalidRequest: one has dead letters, which would be lost. Unavailable.
    """
    waiting: dict[str, int] = {}
    for queue in (*QUEUES, *([DREAM_QUEUE] if record.get("dreams") else [])):
        found = operator.depths(target.dead_letters(region, queue))
        if found.set_aside:
            letters = target.deployment(region).dead_letter_queue(queue)
            raise InvalidRequest(
                "region",
                f"the queue {letters} in {region} holds {found.set_aside} dead letters, and what they ask for would "
                f"never be done: `memolith index redrive --region {region} --queue {queue}` sends them back "
                "(docs/operations/dead-letters.md); then run the same command again",
            )
        waiting[target.deployment(region).queue(queue)] = found.waiting + found.in_flight
    return {name: count for name, count in waiting.items() if count}


def await_queues(target: Target, record: Mapping[str, Any], region: str, clock: Clock) -> None:
    """Return once the region's queues have been empty for a minute, and its reconciler has sealed what came of that.

    Raises:
        InvalidRequest: as `check_dead_letters`. Unavailable: one is not empty after half an hour.
    """
    empty = 0
    for _ in range(POLLS):
        waiting = check_dead_letters(target, record, region)
        empty = 0 if waiting else empty + 1
        if empty == EMPTY_POLLS:
            clock.pause(SEALING_TICKS * 60 * int(record.get("tick_minutes", 1)))
            return
        clock.pause(POLLS_S)
    held = ", ".join(f"{name} ({count} messages)" for name, count in waiting.items())
    raise Unavailable(
        f"queues of {region} are not worked off, and would be lost with its stacks: {held or 'now and then one'}. "
        "See docs/operations/queue-age.md, then run the same command again"
    )


def without(record: dict[str, Any], region: str) -> None:
    """Change the deployment's record to one without the region, which then is a former one."""
    record["regions"] = [other for other in record["regions"] if other != region]
    former = record.setdefault("former_regions", [])
    if region not in former:
        former.append(region)
    for path in PER_REGION:
        place: Any = record
        for name in path:
            place = place.get(name, {})
        place.pop(region, None)


def has_stacks(target: Target, stage: str, region: str) -> bool:
    """Tell whether the region's base stack is there, its deletion not begun. One request. Raises Unavailable."""
    from memolith.adapters.aws.errors import AwsError, code_of, read_error

    name = f"memolith-{stage}-base-{region}"
    try:
        (stack,) = target.clients.cloudformation(region).describe_stacks(StackName=name)["Stacks"]
    except AwsError as error:
        if code_of(error) == "ValidationError":
            return False
        raise read_error(error, f"CloudFormation in {region} does not say whether the stack {name} is there") from error
    return not stack["StackStatus"].startswith("DELETE_")


def delete_stacks(target: Target, stage: str, region: str) -> None:
    """Delete the region's stacks, the mesh stack first; one that is gone is passed over. Minutes.

    Raises:
        Unavailable: CloudFormation refuses to delete one, or does not; then its events say why.
    """
    from botocore.exceptions import WaiterError

    from memolith.adapters.aws.errors import AwsError, code_of

    stacks = target.clients.cloudformation(region)
    for kind in ("mesh", "base"):
        name = f"memolith-{stage}-{kind}-{region}"
        try:
            stacks.delete_stack(StackName=name)
            stacks.get_waiter("stack_delete_complete").wait(StackName=name)
        except WaiterError as error:
            raise Unavailable(
                f"the stack {name} was not deleted ({error.last_response.get('Error', {}).get('Message') or error}): "
                "see its events in CloudFormation, then run the same command again"
            ) from error
        except AwsError as error:
            raise Unavailable(
                f"the stack {name} was not deleted ({code_of(error)}): you need cloudformation:DeleteStack and "
                "cloudformation:DescribeStacks; then run the same command again"
            ) from error


def _others(target: Target, region: str) -> tuple[str, ...]:
    return tuple(other for other in target.regions if other != region)


def _known_until(target: Target, other: str, region: str) -> int:
    return operator.index_status(target.site(other), {}).watermarks.get(region, 0)
