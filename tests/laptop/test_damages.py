"""Random damages to a copy of a folder: it is served again, nothing else is lost, and what was damaged is named.

``make chaos`` does two hundred of them. A seed that failed is done again with MEMOLITH_CHAOS_SEED=….
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memolith.adapters.system import SystemClock, SystemRandomness, Unmeasured
from memolith.app.kernel.results import RequestContext, VersionFilter
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.errors import MemolithError
from memolith.entry.compose_laptop import LocalSite, Machine, open_site, owner_key
from memolith.entry.doctor import mend
from memolith.entry.doctor_checks import Looked, State, examine
from memolith.wire import auth
from tests.laptop.damages import copy_of, damage_folder, damaged_objects
from tests.support.folders import quick_folder

COUNT = int(os.environ.get("MEMOLITH_CHAOS", "12"))
FIRST = int(os.environ.get("MEMOLITH_CHAOS_SEED", "0"))
START_S = 30
UNUSED_PORT = 9


@contextmanager
def site_on(root: Path) -> Iterator[LocalSite]:
    site = open_site(root, LettingAllThrough(), Machine(SystemClock(), SystemRandomness(), Unmeasured()))
    try:
        yield site
    finally:
        site.close()


def call_on(root: Path, site: LocalSite) -> RequestContext:
    return RequestContext(auth.of_key(owner_key(root, site.region)))


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Path, dict[str, set[str]]]]:
    """A folder with two stores, some history, a rename and a deletion; and each store's acknowledged texts."""
    with quick_folder() as folder:
        root = folder / "root"
        texts: dict[str, set[str]] = {}
        with site_on(root) as site:
            call = call_on(root, site)
            memories = site.memolith.memories
            for name in ("one", "two"):
                store = site.memolith.stores.create(call, name=name, description="", metadata={}).id
                texts[store] = set()
                for number in range(6):
                    told = [f"{name} {number} {turn} " + "x" * 50 for turn in range(2)]
                    texts[store] |= set(told)
                    made = memories.create(call, store, path=f"/n/{number}", content=told[0], full=False)
                    changed = memories.update(
                        call,
                        store,
                        made.id,
                        content=told[1],
                        path=None,
                        expected_content_sha256=made.content_sha256,
                        full=False,
                    )
                    if number == 1:  # two objects, neither of which is the only one that has its text
                        memories.update(
                            call,
                            store,
                            made.id,
                            content=None,
                            path="/moved",
                            expected_content_sha256=None,
                            full=False,
                        )
                    if number == 2:
                        memories.delete(call, store, changed.id, expected_content_sha256=None)
        yield root, texts


def found_in(root: Path, stores: set[str]) -> tuple[set[str], list[str]]:
    """Every text that the API gives of these stores, in history too; and what failed."""
    found: set[str] = set()
    failed: list[str] = []
    with site_on(root) as site:
        call = call_on(root, site)
        for store in stores:
            after: str | None = None
            try:
                while True:
                    page = site.memolith.versions.page(call, store, VersionFilter(), limit=20, after=after, full=True)
                    found |= {one.content for one in page.items if one.content is not None}
                    after = page.next_after
                    if after is None:
                        break
            except MemolithError as error:
                failed.append(error.message)
    return found, failed


def started_and_read(root: Path, stores: set[str]) -> tuple[set[str], list[str], str]:
    """What is found after a start, and what the start said if it failed."""
    began = time.monotonic()
    try:
        found, failed = found_in(root, stores)
    except Exception as error:  # noqa: BLE001 - a damaged row may say anything; what mends it has to work all the same
        found, failed = set(), [str(error)]
    assert time.monotonic() - began < START_S
    return found, failed, "; ".join(failed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_damaged_folder_is_served_again_with_all_that_was_not_damaged_and_says_what_was(
    served: tuple[Path, dict[str, set[str]]], tmp_path: Path, seed: int
) -> None:
    whole, texts = served
    chance = random.Random(seed)
    root = copy_of(whole, tmp_path / "root")
    damage = damage_folder(root, chance)
    named = "\n".join(one.found for one in examine(root, UNUSED_PORT).findings if one.state is State.ERROR)
    for path in damaged_objects(root, whole, damage):
        assert str(path) in named, damage.told
    stores = set(texts) - damage.stores
    expected = set().union(*(texts[store] for store in stores)) - damage.texts
    found, failed, said = started_and_read(root, stores)
    if failed or not expected <= found:
        looked: Looked = examine(root, UNUSED_PORT)
        mend(root, looked)
        found, failed, said = started_and_read(root, stores)
    assert not failed, (damage.told, said)
    assert expected <= found, (damage.told, expected - found)
