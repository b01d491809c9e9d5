"""The writes of the frameworks' adapters to one store, through the SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import anthropic
from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory as Memory

from memolith.adapters.system import SystemClock
from memolith.clients.sdk.once import once
from memolith.ports.clock import Clock

Answer = TypeVar("Answer")

View = Literal["basic", "full"]
"""Whether a write's answer has the content as it is stored: without the secrets that the store has taken out."""


class WriteStaged(Exception):
    """A write that the store's approval policy made a proposal: nothing is in the store until a person approves it.

    Attributes:
        proposal_id: ``prop_…``. The same write again has the same one while it is open.
    """

    def __init__(self, what: str, proposal_id: str) -> None:
        super().__init__(f"{what}: staged for approval as {proposal_id}; it is not in the store yet")
        self.proposal_id = proposal_id


class Writes:
    """Creates, updates and deletes memories of a store, each sent once, and again only where nothing was done.

    Every method raises WriteStaged for a write that waits for approval, and anthropic.APIError.

    Args:
        client: of Memolith's address.
        store_id: ``memstore_…``.
        clock: waits before a write is sent again.
    """

    def __init__(self, client: anthropic.Anthropic, store_id: str, clock: Clock | None = None) -> None:
        self._memories = client.with_options(max_retries=0).beta.memory_stores.memories
        self._store_id = store_id
        self.clock = clock or SystemClock()
        self.max_retries = client.max_retries

    def create(self, path: str, content: str, view: View = "basic") -> Memory:
        """Create a memory."""
        return self._done(path, lambda: self._memories.create(self._store_id, path=path, content=content, view=view))

    def update(self, memory_id: str, content: str, expected_sha256: str | None = None, view: View = "basic") -> Memory:
        """Give a memory new content, wherever it is; with `expected_sha256` only on that content."""
        only_on: Any = anthropic.omit
        if expected_sha256 is not None:
            only_on = {"type": "content_sha256", "content_sha256": expected_sha256}

        def send() -> Memory:
            return self._memories.update(
                memory_id, memory_store_id=self._store_id, content=content, precondition=only_on, view=view
            )

        return self._done(memory_id, send)

    def delete(self, memory_id: str) -> None:
        """Delete a memory, wherever it is."""
        self._done(memory_id, lambda: self._memories.delete(memory_id, memory_store_id=self._store_id))

    def _done(self, what: str, send: Callable[[], Answer]) -> Answer:
        answer: Any = once(send, self.clock, self.max_retries)
        if getattr(answer, "type", None) == "proposal":
            raise WriteStaged(what, answer.id)
        return cast("Answer", answer)
