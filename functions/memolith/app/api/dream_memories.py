"""The memories of a dream's stores: reading all of them, and copying those of its input into an output that is new."""

from __future__ import annotations

from collections.abc import Callable

from memolith.app.api.dream_run import DreamFailedError, Run, as_dreamed
from memolith.app.api.memories import Memories
from memolith.app.api.sources import Origin
from memolith.app.api.versions import Versions
from memolith.app.kernel.proposal_results import Staged
from memolith.app.kernel.results import Memory, VersionFilter
from memolith.core.errors import InvalidRequest, PathConflict
from memolith.core.limits import LIST_MAX, LIST_MAX_FULL
from memolith.core.objects.run_record import CREATE_NEW
from memolith.core.pipelines.dreams import DreamedMemory
from memolith.core.times import rfc3339

MEMORIES_MAX = 2_000


class DreamMemories:
    """Reads and copies memories as each dream's own session. `go_on` is called between calls, and stops by raising."""

    def __init__(self, memories: Memories, versions: Versions) -> None:
        self._memories = memories
        self._versions = versions

    def all(
        self, run: Run, store_id: str, go_on: Callable[[], None], *, full: bool = True, folder: str | None = None
    ) -> list[Memory]:
        """Read a whole store, or a folder of it, as the dream's session sees it: without what is withheld. What listing
        it costs.

        Raises:
            DreamFailedError: it has too many memories. NotFound, Unauthenticated, PermissionDenied, Unavailable.
        """
        found: list[Memory] = []
        after: str | None = None
        limit = LIST_MAX_FULL if full else LIST_MAX
        while True:
            page = self._memories.page(
                run.call, store_id, path_prefix=folder, depth=0, limit=limit, after=after, full=full
            )
            found += [one for one in page.items if isinstance(one, Memory)]
            if len(found) > MEMORIES_MAX:
                raise DreamFailedError(
                    "input_memory_store_too_large", f"the store has more than {MEMORIES_MAX:,} memories"
                )
            after = page.next_after
            if after is None:
                return found
            go_on()

    def copy(self, run: Run, go_on: Callable[[], None]) -> None:
        """Copy what the output, a new store, lacks of the input. What `all` costs, twice, and a write for each.

        What the output's policy has wait for a person is proposed there, and counted. Raises as `all`; Busy,
        OutcomeUnknown.
        """
        there = {memory.path for memory in self.all(run, run.record.output_store_id, go_on)}
        for memory in self.all(run, run.record.store_id, go_on):
            if memory.path in there or memory.content is None:
                continue
            go_on()
            try:
                self._memories.create(
                    run.call,
                    run.record.output_store_id,
                    path=memory.path,
                    content=memory.content,
                    full=False,
                    origin=Origin(at_most=memory.trust),
                )
            except PathConflict:
                continue
            except InvalidRequest:
                run.dropped.append("copy_refused")
            except Staged:  # somebody has set a policy for the new store meanwhile
                run.dropped.append("proposed")

    def before(self, run: Run, log: DreamedMemory, since_us: int, go_on: Callable[[], None]) -> str:
        """Return the text that a log of the input had before an instant; empty where it had none, or it is erased.

        Where the log has changed since, what listing its versions costs, and a GET; and where the output is a new
        store, what listing its folder costs. Raises as `all`.
        """
        if log.updated_at < rfc3339(since_us):
            return log.text
        memory_id = log.id
        if run.record.behavior == CREATE_NEW:
            there = self.all(run, run.record.store_id, go_on, full=False, folder=f"{log.path.rpartition('/')[0]}/")
            memory_id = next((one.id for one in there if one.path == log.path), memory_id)
        filter = VersionFilter(memory_id=memory_id, created_at_lte=since_us - 1)
        found = self._versions.page(run.call, run.record.store_id, filter, limit=1, after=None, full=True).items
        return found[0].content or "" if found else ""

    def read(self, run: Run, go_on: Callable[[], None]) -> dict[str, DreamedMemory]:
        """Read the store that is to be written. A copy is as old as what it was copied from. Costs and raises as `all`.

        Of a new store the input is read as well, without its texts.
        """
        memories = self.all(run, run.record.output_store_id, go_on)
        ages: dict[tuple[str, str], int] = {}
        if run.record.behavior == CREATE_NEW:
            originals = self.all(run, run.record.store_id, go_on, full=False)
            ages = {(one.path, one.content_sha256): one.updated_at for one in originals}
        return {
            one.path: as_dreamed(one, ages.get((one.path, one.content_sha256), one.updated_at))
            for one in memories
            if one.content is not None
        }
