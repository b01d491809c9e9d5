"""Dream over made-up sessions in a deployment in one process, and kill the dream at each of its steps.

A step is a call of a port or a question to the model; the process dies before it, or after it and before the answer
arrives. What is left is taken up by another process once the lease is over, and compared with a dream that no one
disturbed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from memolith.adapters.layered import Call, Crash
from memolith.adapters.memory import ManualClock
from memolith.app.api.dreams import DreamRequest
from memolith.app.api.service import Memolith
from memolith.app.api.transcripts import EventDraft
from memolith.app.kernel.results import Memory, StoreToAttach
from memolith.app.safety.write_gate import TextScanner
from memolith.core.memory_conventions import INDEX_MAX_LINES, INDEX_PATH, index_line
from memolith.core.objects.run_record import UPDATE_EXISTING, RunRecord
from memolith.core.pipelines.dreams import is_over_cap
from memolith.ports.model import Answer, Ask, Model, Models
from scripts.pipelines.sessions import Session
from tests.support.cloud import Cloud

REGION = "us-east-1"
LEASE_US = 60_000_000
DREAMED_SESSIONS = 3
TAKEN_UP_AGAIN = 3
T = TypeVar("T")

TWICE = "The staging database in Frankfurt is read-only for everyone but the release bot of the team"


@dataclass(frozen=True, slots=True)
class End:
    """What a dream comes to: the store's texts, how many versions each path took, and what the dream says it did.

    `left` are the steps that are kept although the dream is over.
    """

    status: str
    texts: dict[str, str | None]
    versions: dict[str, int]
    changes: tuple[int, int, int, int, int]
    left: int


@dataclass(slots=True)
class DreamFigures:
    """What was counted: kills of which the end was the same, of all; dreams that left something over its cap."""

    kills: int = 0
    same: int = 0
    dreams: int = 0
    over_cap: int = 0
    steps: int = 0
    applied: int = 0
    failures: list[str] = field(default_factory=list)


class Steps:
    """Counts the steps of a dream, and kills it at one of them."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        self.kill_at: int | None = None
        self.is_done_first = False

    def around(self, call: Call, act: Callable[[], T]) -> T:
        """Stand at a call of a port."""
        return self.step(call.name, act)

    def step(self, name: str, act: Callable[[], T]) -> T:
        """Do a step, or die before it, or after it."""
        if self.names is None:
            return act()
        self.names.append(name)
        if len(self.names) != self.kill_at:
            return act()
        self.names = None
        if self.is_done_first:
            act()
        raise Crash


class _Asked:
    """Models whose questions are steps."""

    def __init__(self, behind: Models, steps: Steps) -> None:
        self._behind = behind
        self._steps = steps

    def named(self, model_id: str) -> Model:
        """Return the model of that name."""
        return _AskedModel(self._behind.named(model_id), self._steps)


class _AskedModel:
    """One model whose questions are steps."""

    def __init__(self, behind: Model, steps: Steps) -> None:
        self._behind = behind
        self._steps = steps

    @property
    def window_tokens(self) -> int:
        return self._behind.window_tokens

    def ask(self, ask: Ask) -> Answer:
        return self._steps.step("model.ask", lambda: self._behind.ask(ask))

    def tokens(self, ask: Ask) -> int:
        return self._behind.tokens(ask)


class DreamTrial:
    """The same dream again and again, each time in a deployment of its own."""

    def __init__(self, models: Models, scanner: TextScanner, seed: int, sessions: list[Session]) -> None:
        """Put it together. Of the sessions the first few that teach something are dreamed of."""
        self._models, self._scanner, self._seed = models, scanner, seed
        self._sessions = [one for one in sessions if one.facts][:DREAMED_SESSIONS]
        self.figures = DreamFigures()

    def run(self, every: int = 1) -> DreamFigures:
        """Dream undisturbed, then with a kill at every step (or every so many), before it and after it."""
        figures = self.figures
        whole, names = self._dream(None, is_done_first=False)
        figures.steps, figures.applied = len(names), sum(whole.changes[:3])
        if whole.status != "completed" or not figures.applied:
            raise SystemExit(f"the dream that no one disturbed came to {whole.status} and {figures.applied} changes")
        for number in range(1, len(names) + 1, every):
            for is_done_first in (False, True):
                end, _ = self._dream(number, is_done_first=is_done_first)
                figures.kills += 1
                figures.same += end == whole
                if end != whole:
                    where = "after" if is_done_first else "before"
                    figures.failures.append(
                        f"killed {where} step {number}, {names[number - 1]}: {_difference(end, whole)}"
                    )
        return figures

    def _dream(self, kill_at: int | None, *, is_done_first: bool) -> tuple[End, list[str]]:
        """Dream, die at a step, and have it taken up again until it is over. Return the end, and the steps."""
        steps = Steps()
        site = _Site(self._models, self._scanner, self._seed, steps)
        run = site.prepare(self._sessions)
        names = steps.names = []
        steps.kill_at, steps.is_done_first = kill_at, is_done_first
        with suppress(Crash):
            site.take_up(run)
        steps.names = None
        for _ in range(TAKEN_UP_AGAIN if kill_at else 0):
            site.clock.advance(2 * LEASE_US // 1_000_000)
            site.cloud.deliver()
            site.take_up(run)
        end = site.end(run)
        self.figures.dreams += 1
        over = [path for path, text in end.texts.items() if is_over_cap(path, text or "")]
        self.figures.over_cap += bool(over)
        self.figures.failures += [f"over its cap: {path}" for path in over]
        return end, names


class _Site:
    """A deployment of one region, with a store that a person filled, and sessions about it."""

    def __init__(self, models: Models, scanner: TextScanner, seed: int, steps: Steps) -> None:
        self.clock = ManualClock()
        self.cloud = Cloud((REGION,), seed=seed, interceptor=steps.around, clock=self.clock, scanner=scanner)
        site = self.cloud.sites[REGION]
        self._memolith = Memolith(site.region, scanner, self.cloud.signing, models=_Asked(models, steps))
        site.memolith = self._memolith
        self._admin = self.cloud.call(self.cloud.key("admin", holder="person"))
        self._store = self._memolith.stores.create(self._admin, name="notes", description="", metadata={}).id

    def prepare(self, sessions: list[Session]) -> RunRecord:
        """Fill the store: two memories that say the same, and an index that has room for one line. Ask for a dream."""
        texts = {
            "/staging.md": f"Note well: {TWICE}, says Ada.",
            "/databases.md": f"It is so: {TWICE}.",
            "/website.md": "The website is deployed to production on Fridays, after the demonstration.",
        }
        lines = [index_line(path, text) for path, text in texts.items()]
        lines += [f"- [Book {number}](books/{number}.md): what it says" for number in range(INDEX_MAX_LINES)]
        texts[INDEX_PATH] = "\n".join(lines[: INDEX_MAX_LINES - 1]) + "\n"
        for path, text in texts.items():
            self.clock.advance(1)
            self._memolith.memories.create(self._admin, self._store, path=path, content=text, full=False)
        ids = [self._record(one) for one in sessions]
        self.cloud.deliver()
        asked = DreamRequest(self._store, ids, "small", behavior=UPDATE_EXISTING)
        return self._memolith.dreams.create(self._admin, asked)

    def _record(self, session: Session) -> str:
        attached = [StoreToAttach(self._store, "read_write", "")]
        begun = self._memolith.sessions.create(self._admin, attached, title=None, metadata={}, token_lifetime_s=3_600)
        drafts = [
            EventDraft(one.type, {"content": [{"type": "text", "text": one.text}]}, f"{session.name}/{number}")
            for number, one in enumerate(session.events)
        ]
        self._memolith.transcripts.record(self._admin, begun.record.session_id, drafts)
        return begun.record.session_id

    def take_up(self, run: RunRecord) -> None:
        """Have a process of its own do the dream, or what is left of it."""
        self._memolith.dream_runner(LEASE_US).take_up(run.run_id)

    def end(self, run: RunRecord) -> End:
        """Return what there is now."""
        self.cloud.deliver()
        over = self._memolith.dreams.retrieve(self._admin, run.run_id)
        page = self._memolith.memories.page(
            self._admin, self._store, path_prefix=None, depth=0, limit=100, after=None, full=True
        )
        versions: dict[str, int] = {}
        for row in self.cloud.rows(REGION, "versions").values():
            path = str(row.get("path"))
            versions[path] = versions.get(path, 0) + 1
        kept = [
            key for key in self.cloud.buckets.page(REGION, "local/dream/", None, 1_000).keys if "local/dream/" in key
        ]
        return End(
            over.status.value,
            {one.path: one.content for one in page.items if isinstance(one, Memory)},
            versions,
            (over.created, over.changed, over.deleted, over.conflicts, sum(map(len, over.sources.values()))),
            len(kept),
        )


def _difference(end: End, whole: End) -> str:
    """Return in which of its parts an end is another; of texts and versions, at which paths."""
    pairs = {name: (getattr(end, name), getattr(whole, name)) for name in ("status", "changes", "left")}
    parts = [f"{name}: {is_} and not {was}" for name, (is_, was) in pairs.items() if is_ != was]
    for name in ("texts", "versions"):
        is_, was = getattr(end, name), getattr(whole, name)
        parts += [f"{name} of {path}" for path in sorted({*is_, *was}) if is_.get(path) != was.get(path)]
    return ", ".join(parts)
