"""Two workers who do the dreams of a store besides the clients', which others write; its home moves, and is lost, too.

The model is slow: an answer may take longer than a lease lasts. Invocations of workers die, come twice, and begin while
others run. What the workers leave in the buckets is all that `checkers.jobs` sees.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from memolith.adapters.models.validated import Validated
from memolith.app.api.dreams import DreamRequest
from memolith.core.errors import MemolithError
from memolith.core.objects.run_record import UPDATE_EXISTING
from memolith.core.pipelines.framing import unframed
from memolith.core.rows.dreams import DreamRow
from memolith.ports.model import Answer, AnswerForm, Ask, Model, Rejected, Usage, estimated_tokens
from tests.simulation.ports import LONGEST_LIFE_S
from tests.simulation.tasks import Task

if TYPE_CHECKING:
    from tests.simulation.sites import Sandbox
    from tests.simulation.world import World

WORKERS = 2
DREAMS = 4
EDITS = 16
PATHS = ("/w/1", "/w/2", "/w/3")
LEASE_S = 4.0
SLOW = 0.4
"""The share of answers for which a model takes up to twice as long as a lease lasts."""

TICKS_AT_REST = 12
DREAMT = "dreamt of"
"""What begins a text of a dream; the version that it was made of follows."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One object of the store, as the bucket of the region that put it has it; `puts` counts its versions."""

    home: str
    body: Mapping[str, Any]
    puts: int


@dataclass(frozen=True, slots=True)
class Written:
    """One version of a memory: its text, and the version that it was written over."""

    parent: str | None
    text: bytes


@dataclass(frozen=True, slots=True)
class Worked:
    """What is left of the workers' store.

    Attributes:
        jobs, runs: the records of its job and of its dreams.
        written: every version of its memories, by id, as any bucket has it.
        unfinished: dreams that the home does not show as over, though they were asked for.
        lost: whether a region was told to take the store over.
    """

    jobs: tuple[Kept, ...] = ()
    runs: tuple[Kept, ...] = ()
    written: Mapping[str, Written] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    lost: bool = False


class SlowModels:
    """`ports.model.Models`: whatever is named, one model; `pause` is how long its answers take."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause

    def named(self, model_id: str) -> Model:
        """Return the model, held to the form that is asked for."""
        return Validated(_SlowModel(self._pause))


class _SlowModel:
    """Replaces every text by one that says which version it was."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause

    @property
    def window_tokens(self) -> int:
        return 1_000_000

    def tokens(self, ask: Ask) -> int:
        return estimated_tokens(ask)

    def ask(self, ask: Ask) -> Answer:
        if ask.form is not AnswerForm.CONSOLIDATION:
            raise Rejected("it consolidates, and does nothing else")
        memories = unframed(ask.turns[-1].text)["memories"]
        self._pause()
        edits = [_edit(one, ask.key) for one in memories]
        answer = {"open": [], "edits": edits, "summary": "", "done": True}
        return Answer(json.dumps(answer), Usage(), "slow")


def _edit(memory: Mapping[str, Any], key: str) -> dict[str, Any]:
    version = memory["version"]
    nothing = dict.fromkeys(("old", "new", "to"))
    edit = {"op": "replace", "path": memory["path"], "content": f"{DREAMT} {version} by {key}", "why": "it is time"}
    return edit | nothing | {"sources": [version]}


class Workers:
    """Who asks for dreams, who does them, and who writes meanwhile, in one world.

    Attributes:
        store_id: the store that they work on.
        struck: how often what happened.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.struck: Counter[str] = Counter()
        self._asked: list[str] = []
        home = world.options.regions[0]
        self.store_id = world.sites[home].use(
            lambda sandbox: sandbox.memolith.stores.create(world.call(), name="w", description="", metadata={}).id
        )
        self._memories = [
            world.sites[home].use(
                lambda sandbox, path=path: (
                    sandbox.memolith.memories.create(  # type: ignore[misc]  # a lambda with a default has no type
                        world.call(), self.store_id, path=path, content=f"as it was at {path}", full=False
                    ).id
                )
            )
            for path in PATHS
        ]

    def let_loose(self) -> list[Task]:
        """Everybody begins; what has to end before the world comes to rest."""
        world = self._world
        for number in range(WORKERS):
            world.scheduler.spawn(f"worker {number}", self._work)
        return [world.scheduler.spawn("asker", self._ask), world.scheduler.spawn("editor", self._edit)]

    def _ask(self) -> None:
        """Asks for dreams, one after the other, at home."""
        for _ in range(DREAMS):
            asked = self._invoke("asking", self._world.home(self.store_id), self._one_dream)
            self._asked += [asked] if isinstance(asked, str) else []
            self._world.scheduler.sleep(self._world.chance.uniform(0.5, 8.0))

    def _one_dream(self, sandbox: Sandbox) -> str:
        request = DreamRequest(self.store_id, (), "slow", behavior=UPDATE_EXISTING)
        return sandbox.memolith.dreams.create(self._world.call(), request).run_id

    def _edit(self) -> None:
        """Writes to the dreamt memories, in any region, and renames one now and then."""
        world = self._world
        for number in range(EDITS):
            memory_id = world.chance.choice(self._memories)
            region = world.network.nearest(world.chance.choice(world.options.regions))
            asked = (None, f"/w/at/{number}") if number % 4 == 3 else (f"edit {number}", None)
            self._invoke("editing", region, partial(self._one_edit, memory_id, *asked))
            world.scheduler.sleep(world.chance.uniform(0.0, 3.0))

    def _one_edit(self, memory_id: str, text: str | None, path: str | None, sandbox: Sandbox) -> None:
        sandbox.memolith.memories.update(
            self._world.call(),
            self.store_id,
            memory_id,
            content=text,
            path=path,
            expected_content_sha256=None,
            full=False,
        )

    def _work(self) -> None:
        """Ticks at home, now and then elsewhere; some ticks come twice, some while the last one runs."""
        world = self._world
        while not world.calm:
            world.scheduler.sleep(world.chance.uniform(0.2, 3.0))
            home = world.home(self.store_id)
            region = home if world.chance.random() < 0.8 else world.chance.choice(world.options.regions)
            copies = 2 if world.chance.random() < 0.2 else 1
            tasks = [self._begin("working", region, self._tick) for _ in range(copies)]
            self.struck["a worker came twice"] += copies - 1
            world.scheduler.wait(tasks[0], world.chance.uniform(0.0, 3 * LEASE_S))

    def _tick(self, sandbox: Sandbox) -> None:
        done = sandbox.memolith.dream_runner(round(LEASE_S * 1_000_000)).tick(
            self._world.call().credentials.workspace_id
        )
        self.struck["a worker had work"] += done

    def pause(self) -> None:
        """A model's answer, some of which outlast a lease."""
        world = self._world
        if world.calm or world.chance.random() >= SLOW:
            world.scheduler.give_way()
            return
        seconds = world.chance.uniform(0.0, 2 * LEASE_S)
        self.struck["an answer outlasted the lease"] += seconds > LEASE_S
        world.scheduler.sleep(seconds)

    def _begin(self, name: str, region: str, call: Callable[[Sandbox], Any]) -> Task:
        """One invocation. What it is refused is no matter; it may die."""
        world = self._world

        def invoke() -> Any:
            try:
                return world.sites[region].use(call)
            except MemolithError:
                return None
            except Exception as error:  # noqa: BLE001 - reported at the end of the run
                world.defects.append(f"{name} in {region}: {error!r}")
                return None

        return world.scheduler.spawn(f"{name} in {region}", invoke, life_s=LONGEST_LIFE_S)

    def _invoke(self, name: str, region: str, call: Callable[[Sandbox], Any]) -> Any:
        task = self._begin(name, region, call)
        self._world.scheduler.wait(task)
        return task.result

    def come_to_rest(self) -> None:
        """Workers go on until every dream is over: the lease of one that died runs out first."""
        world = self._world
        for _ in range(TICKS_AT_REST):
            if not self._unfinished():
                return
            world.scheduler.now_us += round(LEASE_S * 1_000_000)
            self._begin("working", world.home(self.store_id), self._tick)
            world.scheduler.run()

    # ---- what is left -----------------------------------------------------------------------------------------------

    def _unfinished(self) -> tuple[str, ...]:
        site = self._world.sites[self._world.home(self.store_id)]
        region = site.open().region
        keys = [DreamRow.key(run_id) for run_id in self._asked]
        rows = region.read(region.view().index, keys) if keys else {}
        over = {
            row.parsed.run_id for row in map(DreamRow.from_attributes, rows.values()) if not row.parsed.status.is_open
        }
        return tuple(run_id for run_id in self._asked if run_id not in over)

    def gather(self) -> Worked:
        """What is in the buckets, and which dreams are not over."""
        return Worked(
            jobs=tuple(self._kept("job")),
            runs=tuple(self._kept("run")),
            written=self._written(),
            unfinished=self._unfinished(),
            lost=self.store_id in self._world.operators.taken_over,
        )

    def _kept(self, kind: str) -> list[Kept]:
        buckets, found = self._world.buckets, []
        for home in self._world.options.regions:
            for key in buckets.page(home, f"{home}/{kind}/{self.store_id}/", None, 1000).keys:
                versions = buckets.versions(home, key)
                found.append(Kept(home, json.loads(versions[-1].object.body), len(versions)))
        return found

    def _written(self) -> dict[str, Written]:
        buckets, found = self._world.buckets, dict[str, Written]()
        for home in self._world.options.regions:
            for key in buckets.page(home, f"{home}/log/{self.store_id}/", None, 1000).keys:
                stored = buckets.versions(home, key)[-1].object
                found[stored.metadata["id"]] = Written(stored.metadata.get("prev"), stored.body)
        return found
