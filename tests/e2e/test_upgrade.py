"""Objects of an earlier release arrive in the deployed regions, and are read and continued there."""

from __future__ import annotations

from functools import partial

import pytest
from anthropic import Anthropic, NotFoundError

from memolith.adapters.aws.clients import Clients
from tests.e2e.conftest import until
from tests.support.earlier import TWO_REGIONS, Earlier

pytestmark = pytest.mark.e2e

EARLIER = Earlier.load(TWO_REGIONS)
STORE, PLAN, GONE, REDACTED = (EARLIER.ids[name] for name in ("store", "plan", "gone", "redacted"))
PATHS = {"/freed.md", "/held.md", "/new.md", "/notes/ideas.md", "/plan.md", "/red.md"}


def put_all(aws: Clients, regions: tuple[str, ...]) -> None:
    """Each object is put into the bucket of the region that wrote it; S3 copies it from there.

    Its checkpoints stay out: this deployment has its own.
    """
    for region in regions:
        s3 = aws.s3(region)
        names = [one["Name"] for one in s3.list_buckets()["Buckets"]]
        (bucket,) = (name for name in names if name.startswith("memolith-") and name.endswith(region))
        for stored in EARLIER.objects:
            if stored.key.startswith(f"{region}/") and "/checkpoint/" not in stored.key:
                s3.put_object(
                    Bucket=bucket, Key=stored.key, Body=stored.body, Metadata=dict(stored.metadata), IfNoneMatch="*"
                )


def shows(client: Anthropic, content: str) -> bool:
    memories = client.beta.memory_stores.memories
    try:
        listed = {one.path for one in memories.list(STORE) if one.type == "memory"}
        return listed == PATHS and memories.retrieve(PLAN, memory_store_id=STORE, view="full").content == content
    except NotFoundError:
        return False


def shows_the_redaction(client: Anthropic) -> bool:
    """Tell whether a region has the version and the record of its redaction, two objects with an event of their own."""
    versions = client.beta.memory_stores.memory_versions
    try:
        return versions.retrieve(REDACTED, memory_store_id=STORE).redacted_at is not None
    except NotFoundError:
        return False


def misses_the_deleted(client: Anthropic) -> bool:
    try:
        client.beta.memory_stores.memories.retrieve(GONE, memory_store_id=STORE)
    except NotFoundError:
        return True
    return False


def test_an_earlier_releases_objects_are_read_and_continued_in_every_region(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], aws: Clients
) -> None:
    put_all(aws, regions)
    for region in regions:
        until(partial(shows, sdk[region], "third plan: after the move"), 60)
        until(partial(shows_the_redaction, sdk[region]), 60)
        until(partial(misses_the_deleted, sdk[region]), 60)
    sdk[regions[0]].beta.memory_stores.memories.update(PLAN, memory_store_id=STORE, content="fourth plan")
    for region in regions:
        until(partial(shows, sdk[region], "fourth plan"))
