"""A large rebuild beside writes, killed in the middle and taken up again (``python -m scripts.bench.rebuild``).

Everything is in this process, over adapters in memory: a bucket of so many log objects, the command that drives the
rebuild, the indexer that folds its batches, and a client that goes on writing. Half-way the command is killed, and
another machine takes it up. What it shows is the code's own work, its progress, how much of the work is done twice, and
that nothing is forgotten; how long AWS takes is how fast its indexers read objects.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from memolith.adapters.memory import MemoryQueue
from memolith.app.api.service import Memolith
from memolith.app.indexer.rebuild_pages import Progress
from memolith.app.kernel.results import Memory, RequestContext, VersionFilter
from tests.support.cloud import Cloud
from tests.support.rebuilds import Killed, Operator, fill

BATCHES_A_PAUSE = 20
"""What the indexers fold between two looks of the command: 1,000 objects."""
TOLD_EVERY = 10


@dataclass(slots=True)
class Writing:
    """A client that goes on changing one memory, and counts what was acknowledged."""

    memolith: Memolith
    call: RequestContext
    store: str
    memory: Memory
    acknowledged: list[str] = field(default_factory=list)

    def once(self) -> None:
        changed = self.memolith.memories.update(
            self.call,
            self.store,
            self.memory.id,
            content=f"text {len(self.acknowledged)}",
            path=None,
            expected_content_sha256=None,
            full=False,
        )
        self.acknowledged.append(changed.version_id)

    def found(self) -> list[str]:
        """Return the versions that the new tables hold, oldest first, without the creation."""
        page = self.memolith.versions.page(
            self.call, self.store, VersionFilter(memory_id=self.memory.id), limit=100, after=None, full=False
        )
        return [version.id for version in page.items if version.operation == "modified"][::-1]


def say(progress: Progress) -> None:
    """Print a line of progress."""
    left = "" if progress.left_s is None else f", {progress.left_s:.0f} s of its clock left"
    print(f"  {progress.stage}: {progress.folded:,} of {progress.found:,} folded{left}")


def rebuild(cloud: Cloud, queue: MemoryQueue, writing: Writing, is_over: Callable[[Progress], bool]) -> Operator:
    """Run it until it is done, or until `is_over`: then it is killed between two calls."""
    operator = Operator(cloud, queue, BATCHES_A_PAUSE)

    def beats() -> Iterator[None]:
        number = 0
        while True:
            progress = operator.progress[-1]
            if number % TOLD_EVERY == 0:
                say(progress)
            if is_over(progress):
                raise Killed
            if number % 2:
                writing.once()
            number += 1
            yield

    life = beats()
    operator.meanwhile = lambda: next(life)
    try:
        operator.run()
        say(operator.progress[-1])
    except Killed:
        print("  killed")
    return operator


def main() -> int:
    """Print the figures; return 1 where something that was acknowledged is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--objects", type=int, default=100_000, help="log objects in the bucket")
    count = parser.parse_args().objects
    cloud = Cloud(("us-east-1",))
    memolith, call = cloud.sites["us-east-1"].memolith, cloud.call(cloud.key())
    store = memolith.stores.create(call, name="large", description="", metadata={}).id
    memory = memolith.memories.create(call, store, path="/written", content="text", full=False)
    fill(cloud, store, count)
    writing, queue, began = Writing(memolith, call, store, memory), MemoryQueue(), time.process_time()
    print(f"{count:,} objects; the first machine:")
    first = rebuild(cloud, queue, writing, lambda progress: progress.folded >= count // 2)
    print("another machine:")
    second = rebuild(cloud, queue, writing, lambda progress: False)
    took_s = time.process_time() - began
    cloud.sites["us-east-1"].region.view()
    rows = len(cloud.rows("us-east-1", "memories"))
    folded = len(first.folded) + len(second.folded)
    print(f"{folded:,} folded in {took_s:.0f} s of one processor, {folded / took_s:,.0f} a second;", end=" ")
    print(f"{folded - count:,} more than there are; {len(writing.acknowledged)} writes meanwhile;", end=" ")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MB, bucket and tables included")
    newest = writing.acknowledged[-len(writing.found()) :]
    complete = rows == count + 1 and writing.found() == newest
    print(f"{rows:,} memories in the new tables; " + ("nothing is missing" if complete else "SOMETHING IS MISSING"))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
