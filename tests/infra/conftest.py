"""Shared by the infrastructure's tests: apps that several tests ask about, each synthesised once a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.costing import idle
from tests.infra.synthesized import ACCOUNT, FAR, HERE, THERE, App, record, synthesize

os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")

DREAMS = {"service": "bedrock", "models": {"small": {"id": "global.anthropic.claude-haiku-4-5"}}}

Synthesize = Callable[[dict[str, Any]], App]


@pytest.fixture(scope="session")
def synthesized(shared_folder: Path) -> Synthesize:
    """Synthesises a record's app, once for all processes of the run."""
    cache = shared_folder / "synthesized"
    cache.mkdir(exist_ok=True)
    return lambda values: synthesize(values, cache)


@pytest.fixture(scope="session")
def one_region(synthesized: Synthesize) -> App:
    """A deployment that stands alone."""
    return synthesized(record(HERE))


@pytest.fixture(scope="session")
def two_regions(synthesized: Synthesize) -> App:
    """A deployment with one peer."""
    return synthesized(record(HERE, THERE, index_generation={THERE: 3}, replication_time_control=False))


@pytest.fixture(scope="session")
def equipped(synthesized: Synthesize) -> App:
    """A deployment in two regions whose record names what most leave out."""
    return synthesized(
        record(
            *(HERE, THERE),
            guardrails={HERE: {"id": "gr4", "version": "3"}},
            rerankers={HERE: "cohere.rerank-v3-5:0"},
            alarms={"emails": ["ops@example.com"]},
            former_regions=[FAR],
            limits={"comparison_parts": 7},
        )
    )


DOMAIN = "memory.example.com"
ROUTING = {"domain": DOMAIN, "zone_id": "Z0123456789ABC", "zone_name": "example.com"}
ON_CALL = f"arn:aws:sns:{HERE}:{ACCOUNT}:on-call"


@pytest.fixture(scope="session")
def furnished(synthesized: Synthesize) -> App:
    """As `equipped`, with what cannot stand beside that: each of these is about other resources."""
    values = {"routing": ROUTING, "alarms": {"topics": {HERE: ON_CALL}}, "search_model": "use"}
    return synthesized(record(HERE, THERE, **values))


@pytest.fixture(scope="session")
def small(synthesized: Synthesize) -> App:
    """The cheapest form in one region, whose idle cost is counted, too."""
    return synthesized(record(HERE, **idle.SMALL))


@pytest.fixture(scope="session")
def three_regions(synthesized: Synthesize) -> App:
    """A deployment with every kind of pair, and with dreams."""
    return synthesized(record(HERE, THERE, FAR, dreams=DREAMS))


@pytest.fixture(scope="session")
def emulated(synthesized: Synthesize) -> App:
    """A deployment to the local cloud."""
    return synthesized(record(HERE, THERE, emulated=True, bundling="host", rollout="unversioned"))
