"""agmi on a deployment of two regions with IAM enforced.

The edits that stay within a store are made beside each other: sixteen at a time, tables kept, then tables made anew. An
older copy of the whole bucket is put back alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / ".venv" / "packages"))

from agmi.attacks.at_rest import ALL_AT_REST_ATTACKS, SnapshotRollbackAttack
from agmi.attacks.base import Attack, AttackResult

from memolith.core.object_keys import CheckpointKey
from tests.e2e.conftest import dev as dev  # noqa: PLC0414 - a fixture: brought up, or the one that runs
from tests.interop.agmi.cloud import Cloud, CloudHome
from tests.interop.agmi.versions import NAMES

pytestmark = pytest.mark.e2e

TRIES = 3
Results = dict[tuple[str, bool], tuple[AttackResult, CloudHome]]


@pytest.fixture(scope="module", params=[False, True], ids=["tables kept", "tables made anew"])
def results(request: pytest.FixtureRequest, dev: dict[str, Any]) -> Iterator[Results]:
    """What came of each attack, naive and with hashes recomputed."""
    chosen = [(attack, recomputed) for attack in ALL_AT_REST_ATTACKS for recomputed in (False, True)]
    cloud = Cloud(dev, threading.Barrier(len(chosen)) if request.param else None)
    cloud.seal()  # what is written before a deployment's first minute is over is named, and not sealed
    homes = [CloudHome(cloud, recomputed=recomputed, rebuilt=request.param) for _, recomputed in chosen]
    with ThreadPoolExecutor(len(chosen)) as threads:
        done = threads.map(lambda one: one[0][0]().run(one[1]), list(zip(chosen, homes, strict=True)))
        found = list(done)
    yield {
        (attack.name, recomputed): (result, home)
        for (attack, recomputed), result, home in zip(chosen, found, homes, strict=True)
    }


@pytest.mark.parametrize("recomputed", [False, True], ids=["naive", "hashes recomputed"])
@pytest.mark.parametrize("attack", ALL_AT_REST_ATTACKS, ids=[one.name for one in ALL_AT_REST_ATTACKS])
def test_the_attack_on_a_deployed_home_is_reported_by_its_name(
    results: Results, attack: type[Attack], recomputed: bool
) -> None:
    result, home = results[attack.name, recomputed]
    assert (result.guard, result.error) == (None, None)
    assert (result.status, home.verify_detail) == ("safe", NAMES[attack.name])


def test_a_home_that_tells_two_histories_is_named_by_what_the_other_region_saw(dev: dict[str, Any]) -> None:
    """The attacker has the home's signing key: its own bucket, chain and signatures are in order.

    Again where the schedule had the other region see another minute meanwhile: that one is gone then, and not forked.
    """
    cloud = Cloud(dev)
    stores = cloud.sdk().beta.memory_stores
    stores.memories.create(stores.create(name="two histories").id, path="/a", content="one of them")
    cloud.seal()
    before = {(one["flaw"], one["key"]) for one in cloud.audit()}
    for _ in range(TRIES):
        with cloud.forked() as key:
            found = {(one["flaw"], one["key"]) for one in cloud.audit()}
            if key == str(CheckpointKey(cloud.home, cloud.last_witnessed())):
                break
    # The home may have sealed another minute meanwhile, which names the true one as the one before it.
    assert ("forked", key) in found
    assert {flaw for flaw, _ in found - before} <= {"forked", "checkpoint_altered", "checkpoint_missing"}


@pytest.mark.parametrize("rebuilt", [False, True], ids=["tables kept", "tables made anew"])
def test_a_home_put_back_to_an_earlier_state_is_reported_by_what_the_other_region_saw(
    dev: dict[str, Any], rebuilt: bool
) -> None:
    """Objects come back as they were, so there is no hash to compute again.

    The one with tables made anew is last: it takes longer than a minute, in which the home seals on without what was
    taken away, and its chain stays broken.
    """
    home = CloudHome(Cloud(dev), recomputed=False, rebuilt=rebuilt)
    result = SnapshotRollbackAttack().run(home)
    assert (result.guard, result.error) == (None, None)
    assert result.status == "safe"
    # Where the home sealed another minute meanwhile, the one that was taken away is missing before it as well.
    assert set(home.verify_detail.split(", ")) - {"checkpoint_missing"} == {NAMES[SnapshotRollbackAttack.name]}
