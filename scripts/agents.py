"""Agents that edit the same memories at once, through the real SDK, and keep count of what they were told.

Used by the demo, the end-to-end tests and the benchmarks. An edit is: read the memory, add one line of one's own, write
it back on condition that no other writer has written meanwhile; told 409, read again and try again.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

from anthropic import Anthropic, APIError, APIStatusError, ConflictError

ATTEMPTS = 400


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one agent is to do.

    Attributes:
        name: stands in each of its lines.
        base_url, api_key: the region it speaks to.
        store_id, memory_ids: what it edits; edits go round the memories.
        edits: how many it wants acknowledged.
    """

    name: str
    base_url: str
    api_key: str
    store_id: str
    memory_ids: tuple[str, ...]
    edits: int


@dataclass(slots=True)
class Report:
    """What one agent was told.

    Attributes:
        acknowledged: (memory_id, line, memory_version_id) of each edit that was answered with success.
        conflicts: how often it was told 409.
        unknown: lines of edits whose outcome it was not told.
        errors: other refusals, as text; there should be none.
        latencies_ms: of each acknowledged update call.
    """

    name: str
    acknowledged: list[tuple[str, str, str]] = field(default_factory=list)
    conflicts: int = 0
    unknown: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)


def client(base_url: str, api_key: str) -> Anthropic:
    """Make the unchanged SDK's client, pointed at Memolith and deaf to the shell's environment for Anthropic."""
    return Anthropic(base_url=base_url, api_key=api_key, max_retries=0, timeout=60)


def edit(agent: Assignment, tell: Callable[[int], None]) -> Report:
    """Make the edits, calling `tell` with 1 after each that was acknowledged."""
    sdk, report = client(agent.base_url, agent.api_key), Report(agent.name)
    for number in range(agent.edits):
        memory_id = agent.memory_ids[number % len(agent.memory_ids)]
        if _edit_once(sdk, agent, memory_id, f"- {agent.name} edit {number:03d}", report):
            tell(1)
    return report


def _edit_once(sdk: Anthropic, agent: Assignment, memory_id: str, line: str, report: Report) -> bool:
    memories = sdk.beta.memory_stores.memories
    for _ in range(ATTEMPTS):
        try:
            before = memories.retrieve(memory_id, memory_store_id=agent.store_id)
            started = time.perf_counter()
            after = memories.update(
                memory_id,
                memory_store_id=agent.store_id,
                content=f"{before.content or ''}{line}\n",
                precondition={"type": "content_sha256", "content_sha256": before.content_sha256},
            )
        except ConflictError:
            report.conflicts += 1
            continue
        except APIStatusError as error:
            if error.status_code == 504:
                report.unknown.append((memory_id, line))
            else:
                report.errors.append(f"{error.status_code} {error.message}")
            return False
        except APIError as error:
            report.unknown.append((memory_id, line))
            report.errors.append(type(error).__name__)
            return False
        report.latencies_ms.append((time.perf_counter() - started) * 1000)
        report.acknowledged.append((memory_id, line, after.memory_version_id))
        return True
    report.errors.append(f"{line}: told 409 {ATTEMPTS} times")
    return False


def _work(agent: Assignment, answers: Any) -> None:
    report = edit(agent, lambda count: answers.put(count))
    answers.put(report)


def run_agents(agents: Sequence[Assignment], timeout_s: float = 600) -> Iterator[int | Report]:
    """Run every agent in a process of its own; yield 1 for each acknowledged edit, and each agent's report at its end.

    Raises:
        TimeoutError: an agent did not end in time, or died; all are stopped.
    """
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    processes = [context.Process(target=_work, args=(agent, answers), daemon=True) for agent in agents]
    for process in processes:
        process.start()
    missing, deadline = len(processes), time.monotonic() + timeout_s
    try:
        while missing:
            try:
                answer = answers.get(timeout=1)
            except Empty:
                dead = [one for one in processes if one.exitcode not in (None, 0)]
                if dead or time.monotonic() > deadline:
                    raise TimeoutError("an agent died or did not end in time") from None
                continue
            missing -= isinstance(answer, Report)
            yield answer
    finally:
        for process in processes:
            process.terminate()
            process.join()


def kept(sdk: Anthropic, store_id: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the lines of each memory as it is now."""
    memories = sdk.beta.memory_stores.memories
    contents = {id: memories.retrieve(id, memory_store_id=store_id).content or "" for id in memory_ids}
    return {id: content.splitlines() for id, content in contents.items()}
