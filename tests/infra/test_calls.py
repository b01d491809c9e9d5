"""Least privilege by payload: what each role may have a function do, and not only which function it may invoke.

IAM tells functions apart, not events. So whoever may invoke a function may ask for all that it answers: the tables say
what that is, and are compared with the policies and with the code in both directions.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from infra.deployment import FUNCTIONS
from memolith.wire.rpc import (
    Calls,
    eraser_calls,
    homes_calls,
    indexer_calls,
    keys_calls,
    packer_calls,
    peerreader_calls,
    peerwriter_calls,
)
from tests.infra.policies import by_role
from tests.infra.rights import function, grants
from tests.infra.synthesized import HERE, THERE, App
from tests.support.cloud import Cloud

HTTP, QUEUE, AGENT, TEXT = "an HTTP request", "a queue's batch", "an agent's command", "a text to scan"
WITH_CREDENTIALS = {HTTP, AGENT}
"""Kinds of events that bring a key or a token, which is verified: they are no rights of the caller's own."""

MAKES_CREDENTIALS = {"keys.create"}
VOUCHED_WRITES = {"write", "store", "redact", "import", "release", "dismiss", "proposal", "dream", "resolve_conflict"}
VOUCHED_READS = {"read"}
ENDS_SOMETHING = {"keys.revoke", "homes.move", "homes.fail_over", "homes.begin", "homes.commit", "homes.give_up"}
LOWERS_A_SESSION = {"session_shown"}
"""What a reader says of a session is taken at its word: it can only lower the trust class of what that writes."""

HAS_IT_LOOKED_AT = {"arrived", "judge", "fold_key", "help", "vacate", "seal", "adopt", "adopt_records", "pack"} | {
    "proposal_due", "erase_proposal", "erase", "erase_store", "erase_packs", "erase_transcript",
    "clear_transcript_part", "erase_dream_steps",
}  # fmt: skip
"""Calls that name an object, a store or a memory; the answering function finds out by itself what is so of it."""

ANSWERS: dict[str, set[str]] = {
    "reader": {HTTP},
    "writer": {HTTP},
    "mcp": {HTTP},
    "tool": {AGENT},
    "peerreader": VOUCHED_READS,
    "peerwriter": VOUCHED_WRITES | {"proposal_due", "help", "vacate", "seal", "adopt", "adopt_records"},
    "keys": {"keys.create", "keys.revoke", "keys.list", HTTP},
    "indexer": {"arrived", "judge", "fold_key", "session_shown", QUEUE},
    "packer": {"pack", QUEUE},
    "scanner": {TEXT, QUEUE},
    "eraser": {"erase", "erase_proposal", "erase_store", "erase_packs", "erase_transcript", "clear_transcript_part"}
    | {"erase_dream_steps", "sweep", "erasure.status", "erasure.search", "repair.page"},
    "dreamer": {QUEUE},
    "reconciler": {"tick", "compare", "homes.list", "homes.is_held"} | (ENDS_SOMETHING - {"keys.revoke"}),
}
ASKS: dict[str, tuple[set[str], set[str]]] = {
    "reader": ({"indexer", "packer"}, {"peerreader"}),
    "peerreader": ({"indexer", "packer"}, {"peerreader"}),
    "writer": ({"eraser"}, {"peerwriter"}),
    "peerwriter": ({"eraser"}, {"peerwriter"}),
    "keys": (set(), set()),
    "indexer": ({"peerwriter", "eraser"}, set()),
    "packer": ({"eraser"}, set()),
    "scanner": (set(), set()),
    "dreamer": ({"eraser"}, {"peerwriter"}),
    "eraser": (set(), set()),
    "reconciler": ({"peerwriter", "eraser"}, {"peerwriter", "reconciler"}),
    "tool": ({"reader", "writer"}, set()),
    "mcp": ({"reader", "writer"}, set()),
}
"""Whom each function's role may invoke: in its own region, and in the others."""


def asked(name: str) -> set[str]:
    """All that the role of a function may ask of another, directly."""
    return {event for target in set().union(*ASKS[name]) for event in ANSWERS[target]}


def reached(name: str) -> set[str]:
    """What may be asked by whoever has a function in their hands, or one that it may invoke, without credentials.

    An HTTP request leads no further: what it does there is what its key or token may do. A call makes the function that
    answers it do its own work, and gives nobody that function's rights.
    """
    return asked(name) - WITH_CREDENTIALS


@pytest.fixture(scope="module")
def calls() -> dict[str, Calls]:
    cloud = Cloud()
    site = cloud.sites[cloud.regions[0]]
    return {
        "peerreader": peerreader_calls(site.memolith),
        "peerwriter": peerwriter_calls(site.memolith),
        "keys": keys_calls(site.memolith.api_keys),
        "indexer": indexer_calls(site.indexing),
        "packer": packer_calls(site.packing),
        "eraser": eraser_calls(None),  # type: ignore[arg-type] # its table alone is read
        "reconciler": homes_calls(site.homes),
    }


OUTSIDE_TABLES = {"reconciler": {"tick", "compare"}}
"""Calls that a function answers beside its table in `memolith.wire.rpc`."""


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_function_answers_the_calls_of_its_row_and_no_others(calls: dict[str, Calls], name: str) -> None:
    known = calls[name].names | OUTSIDE_TABLES.get(name, set()) if name in calls else set()
    assert known == ANSWERS[name] - {HTTP, QUEUE, AGENT, TEXT}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_composed_of_its_own_table_of_calls_and_of_no_other(name: str) -> None:
    module = importlib.import_module(f"memolith.entry.compose_{name}")
    tables = {found for found in vars(module) if found.endswith("_calls")}
    own = {"homes_calls"} if name == "reconciler" else {f"{name}_calls"}
    assert tables == (own if ANSWERS[name] - {HTTP, QUEUE, AGENT, TEXT} else set())


def invocations(app: App, name: str, region: str) -> Iterator[str]:
    """The functions of a region that the role of `name` may invoke, by the policy engine."""
    document = grants(app, name)
    for target in FUNCTIONS:
        if by_role(document, "lambda:InvokeFunction", function(target, region)) == "Allow":
            yield target


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_role_may_invoke_the_functions_of_its_row_and_no_others(three_regions: App, name: str) -> None:
    assert (set(invocations(three_regions, name, HERE)), set(invocations(three_regions, name, THERE))) == ASKS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_role_may_invoke_a_function_but_by_the_alias_that_serves(three_regions: App, name: str) -> None:
    for target in FUNCTIONS:
        whole = function(target, HERE).removesuffix(":live")
        for arn in (whole, f"{whole}:7", f"{whole}:$LATEST", f"{whole}:any"):
            assert by_role(grants(three_regions, name), "lambda:InvokeFunction", arn) == "ImplicitDeny"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_can_have_an_api_key_made_listed_or_revoked(name: str) -> None:
    assert not asked(name) & (ANSWERS["keys"] - {HTTP})
    assert "keys" not in set().union(*ASKS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_another_may_invoke_answers_requests_or_calls_and_not_both(name: str) -> None:
    if any(name in set().union(*targets) for targets in ASKS.values()):
        assert ANSWERS[name] <= WITH_CREDENTIALS or not ANSWERS[name] & WITH_CREDENTIALS


@pytest.mark.parametrize("name", ["tool", "mcp"])
def test_a_way_in_asks_only_for_what_brings_credentials(name: str) -> None:
    assert reached(name) == set()


@pytest.mark.parametrize("name", ["reader", "peerreader"])
def test_who_reads_vouches_for_reads_alone(name: str) -> None:
    assert reached(name) <= VOUCHED_READS | HAS_IT_LOOKED_AT | LOWERS_A_SESSION | {QUEUE}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_who_may_write_by_itself_vouches_for_the_writes_of_others(three_regions: App, name: str) -> None:
    if asked(name) & VOUCHED_WRITES:
        table = "arn:aws:dynamodb:us-east-1:111122223333:table/memolith-test-memories-g1"
        assert by_role(grants(three_regions, name), "dynamodb:PutItem", table) == "Allow"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_only_the_reconciler_asks_for_a_home_to_move(name: str) -> None:
    assert bool(asked(name) & ENDS_SOMETHING) == (name == "reconciler")


def test_every_call_has_one_function_that_answers_it() -> None:
    names = [event for answers in ANSWERS.values() for event in answers - {HTTP, QUEUE, AGENT, TEXT}]
    assert len(names) == len(set(names))
