"""What ``memolith regions add`` asks of AWS about a region that is added, over boto3 and moto."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memolith.clients.cli import region_addition
from memolith.clients.cli.deployment_target import Target
from memolith.core.errors import Unavailable
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from tests.contract.moto_world import DEPLOYMENT, FAR, HOME, locked_moto, make_bucket, make_tables


@pytest.fixture
def target() -> Iterator[Target]:
    with locked_moto() as clients:
        yield Target(clients, DEPLOYMENT.stage, DEPLOYMENT.account, (HOME, FAR))


def test_tables_that_serve_are_declared_incomplete_and_nothing_else_of_their_row_changes(target: Target) -> None:
    make_tables(target.clients)
    index, row = target.site(HOME).index, ControlRow(serving=3, complete=True, run="r")
    index.commit([Change(ControlRow.KEY, None, row.to_attributes())])
    for _ in range(2):
        assert region_addition.declare_incomplete(target, HOME)
        assert index.read([ControlRow.KEY])[ControlRow.KEY] == replace(row, complete=False).to_attributes()


def test_where_no_tables_serve_none_are_declared_incomplete(target: Target) -> None:
    assert not region_addition.declare_incomplete(target, HOME), "there are no tables"
    make_tables(target.clients)
    assert not region_addition.declare_incomplete(target, HOME), "there are tables, of a deployment that stopped"
    assert target.site(HOME).index.read([ControlRow.KEY]) == {}


def test_a_bucket_is_there_or_not(target: Target) -> None:
    assert not region_addition.has_bucket(target, FAR, has_tables=False)
    make_bucket(target.clients, FAR)
    assert region_addition.has_bucket(target, FAR, has_tables=True)


def test_a_bucket_has_replication_rules_or_not(target: Target) -> None:
    for region in (HOME, FAR):
        make_bucket(target.clients, region)
    assert not region_addition.is_replicated(target, FAR)
    destination = {"Bucket": f"arn:aws:s3:::{DEPLOYMENT.bucket(HOME)}"}
    rule: Any = {"ID": "to", "Priority": 1, "Status": "Enabled", "Filter": {"Prefix": "x/"}, "Destination": destination}
    target.clients.s3(FAR).put_bucket_replication(
        Bucket=DEPLOYMENT.bucket(FAR), ReplicationConfiguration={"Role": "arn:aws:iam::1:role/r", "Rules": [rule]}
    )
    assert region_addition.is_replicated(target, FAR)


def test_what_aws_refuses_is_named_with_its_bucket_and_region(target: Target) -> None:
    with pytest.raises(Unavailable, match=f"rules of {DEPLOYMENT.bucket(FAR)} in {FAR}.*NoSuchBucket"):
        region_addition.is_replicated(target, FAR)
