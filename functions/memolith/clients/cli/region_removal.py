"""``memolith regions remove``: what has to be so before a region goes, and in which order it goes.

    nobody writes there -> every other region has all of it -> cdk.json -> deploy -> delete its stacks

What the region wrote stays in every other bucket under its name, and goes on there. So the two things that would lose
something are refused: a store that is still at home there, and another region that does not know to have everything.
Each step can be repeated. The bucket and the tables of the region stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.app.operations import operator
from memolith.clients.cli.deployment_target import Target
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.ports.clock import Clock

WRITERS = ("writer", "peerwriter", "keys", "mcp")
"""The functions that write for callers."""

LAST_CALL_S = 60
"""After their functions were stopped, calls that had begun have ended: no function may run for longer."""

POLLS_S = 10
POLLS = 180
"""Half an hour in all: a checkpoint is made every minute, and S3 copies within fifteen."""

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


def check_stores(target: Target, region: str) -> None:
    """Refuse to remove a region that stores still need, by what each other region knows.

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
            if home.second_region == region:
                raise InvalidRequest(
                    "region",
                    f"{region} is the second region of {home.store_id}: `memolith stores update {home.store_id} "
                    "--second-region` names another",
                )


def stop_writers(target: Target, region: str) -> None:
    """Let no function start in the region that writes for callers. Repeatable. One request for each."""
    deployment = target.deployment(region)
    for name in WRITERS:
        function = deployment.function(name).partition(":")[0]
        target.clients.functions(region).put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)


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


def delete_stacks(target: Target, stage: str, region: str) -> None:
    """Delete the region's stacks, the mesh stack first; one that is gone is passed over. Minutes.

    Raises:
        Unavailable: CloudFormation does not delete one; its events say why.
    """
    from botocore.exceptions import WaiterError

    stacks = target.clients.cloudformation(region)
    for kind in ("mesh", "base"):
        name = f"memolith-{stage}-{kind}-{region}"
        stacks.delete_stack(StackName=name)
        try:
            stacks.get_waiter("stack_delete_complete").wait(StackName=name)
        except WaiterError as error:
            raise Unavailable(
                f"the stack {name} was not deleted ({error.last_response.get('Error', {}).get('Message') or error}): "
                "see its events in CloudFormation, then run the same command again"
            ) from error


def _others(target: Target, region: str) -> tuple[str, ...]:
    return tuple(other for other in target.regions if other != region)


def _known_until(target: Target, other: str, region: str) -> int:
    return operator.index_status(target.site(other), {}).watermarks.get(region, 0)
