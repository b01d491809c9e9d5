"""A store of Memolith as the memory of agents of Google's Agent Development Kit.

client = anthropic.Anthropic(base_url="https://…", api_key="…")     # Memolith's address and key
runner = Runner(agent=…, app_name=…, session_service=…, memory_service=MemolithMemoryService(client, "memstore_…"))

What was said in a session is one document, a line of JSON for each event that has text, in as many parts as its size
needs; what is added explicitly is one document of its own for each user (`adk_lines`):

    /{app}/{user}/sessions/{session}/0001.jsonl
    /{app}/{user}/memories/0001.jsonl

The memory tool, MCP and the API see the same documents, each with its versions, and the scanner reads each before it is
stored. A search is Memolith's full-text search for the parts, and among their lines counts words, as ADK's own service
in memory does: there are no embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anthropic
from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory as Memory
from anyio.to_thread import run_sync
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry

from memolith.clients.sdk import adk_lines
from memolith.clients.sdk.adk_lines import Line
from memolith.clients.sdk.once import is_unknown, pause_s
from memolith.clients.sdk.store_search import searched
from memolith.clients.sdk.writes import Writes
from memolith.ports.clock import Clock
from memolith.wire.memory_tool.tree import AT_HOME

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

PUT_ATTEMPTS = 20
RESULTS_MAX = 10


class MemoryConflict(Exception):
    """Others kept changing a document: part of what the call was to add may be missing. Repeating it adds the rest."""


class UnreadablePart(Exception):
    """A part of a document is withheld or damaged, so that no one can tell which lines it has.

    An addition has added nothing. A deletion is done in every part that could be read.

    Attributes:
        path: of the part.
    """

    def __init__(self, store_id: str, part: Memory, outcome: str) -> None:
        if getattr(part, "damaged", False):
            cause, advice = "is damaged", "`memolith repair` restores it"
        else:
            cause = "is withheld by the scanner"
            advice = (
                f"`memolith quarantine list {store_id}` shows why. Have it released there and delete the line it is "
                "about with `delete_memory`, or have the document deleted"
            )
        super().__init__(f"{part.path}: {cause}, so it cannot be told what it has; {outcome}. {advice}")
        self.path = part.path


class _Unanswered(Exception):
    """A put that may have been done: `error` is what the client raised."""

    def __init__(self, error: anthropic.APIError) -> None:
        super().__init__(str(error))
        self.error = error


class MemolithMemoryService(BaseMemoryService):
    """ADK's `BaseMemoryService` on one store of Memolith; may be shared between tasks and threads.

    Where the API refuses or does not answer, methods raise what the client does (`anthropic.APIError`); a text that the
    scanner refuses is an `anthropic.BadRequestError` that says what, where and why, and of the call that brought it
    nothing is stored in that part.

    Args:
        client: of Memolith's address, with a key or a token that may write to the store.
        store_id: ``memstore_…``.
        results: how many memories a search gives at most.
        clock: waits before a write that was not done, or whose answer was lost, is tried again.
    """

    def __init__(
        self,
        client: anthropic.Anthropic,
        store_id: str,
        *,
        results: int = RESULTS_MAX,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._memories = client.beta.memory_stores.memories
        self._store_id = store_id
        self._writes = Writes(client, store_id, clock)
        self._results = results

    # ---- ADK's interface ----------------------------------------------------------------------------------------

    async def add_session_to_memory(self, session: Session) -> None:
        """Add what was said in a session and is not there yet. As `add_events_to_memory`."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Append events that are not there yet, by their ids; what others append at the same time stays.

        Events without text, and the thoughts in others, are left out. Safe to repeat.

        Cost: a listing of the session's document at the store's home (with its content, 20 parts a request), and one
        conditional commit where something is new.

        Raises:
            ValueError: an event is larger than a memory may be; nothing is added.
            NotImplementedError: `custom_metadata` asks for an expiry; nothing is added.
            UnreadablePart: a part of the document is withheld or damaged; nothing is added.
            MemoryConflict, WriteStaged; anthropic.APIError.
        """
        adk_lines.refuse_expiry(custom_metadata)
        lines = [line for event in events if (line := adk_lines.line_of_event(event, custom_metadata)) is not None]
        await run_sync(self._append, adk_lines.session_folder(app_name, user_id, session_id), lines)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Append memories of the caller's own making; one that has no id gets its content's hash.

        Raises: as `add_events_to_memory`.
        """
        adk_lines.refuse_expiry(custom_metadata, *(entry.custom_metadata for entry in memories))
        lines = [line for entry in memories if (line := adk_lines.line_of_entry(entry, custom_metadata)) is not None]
        await run_sync(self._append, adk_lines.memories_folder(app_name, user_id), lines)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories of a user that share most words with the query; of equals the newest first.

        Cost: one request, and one for each part that the store's search finds (50 at most), however many there are.
        """
        found = await run_sync(self._search, adk_lines.user_folder(app_name, user_id), query)
        return SearchMemoryResponse(memories=found)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Remove the text of a memory, by the id that a search gave, from every part of its document that has it.

        Adding its session again does not restore it.
        The version before stays readable in the store's history until it is redacted, or retention ends it.

        Raises:
            UnreadablePart: a part that is withheld or damaged may have it, too; from all others it is removed.
            MemoryConflict, WriteStaged; anthropic.APIError.
        """
        if memory_id:
            await run_sync(self._delete, adk_lines.user_folder(app_name, user_id), memory_id)

    # ---- on the store -------------------------------------------------------------------------------------------

    def _append(self, folder: str, lines: Sequence[Line]) -> None:
        def attempt() -> bool:
            parts = self._parts(folder)
            known = {line.id for part in parts.values() for line in adk_lines.lines_of(part.content)}
            missing = {line.id: line for line in lines if line.id not in known}
            if missing:
                self._require_readable(parts.values(), "nothing was added")
            last = (max(parts), parts[max(parts)].content or "") if parts else None
            return all(
                self._put(adk_lines.part_path(folder, number), parts.get(number), content)
                for number, content in list(adk_lines.packed(last, missing.values()))
            )

        if lines:
            self._until_done(attempt, folder)

    def _delete(self, folder: str, memory_id: str) -> None:
        path, _, line_id = memory_id.rpartition("#")
        if not path.startswith(folder):
            return

        def attempt() -> bool:
            parts = self._parts(f"{path.rpartition('/')[0]}/").values()
            changes = [(part, adk_lines.without(part.content, unquote(line_id))) for part in parts]
            if not all(content is None or self._put(part.path, part, content) for part, content in changes):
                return False
            self._require_readable(parts, "the memory was removed from the parts that can be read")
            return True

        self._until_done(attempt, path)

    def _require_readable(self, parts: Iterable[Memory], outcome: str) -> None:
        for part in parts:
            if part.content is None:
                raise UnreadablePart(self._store_id, part, outcome)

    def _until_done(self, attempt: Callable[[], bool], what: str) -> None:
        """Read and put until nobody else was first, or nothing is left to put.

        A put whose answer was lost may have been done. Then what it put is read, and not put again.
        """
        unknown = 0
        for _ in range(PUT_ATTEMPTS):
            try:
                if attempt():
                    return
            except _Unanswered as unanswered:
                if unknown >= self._writes.max_retries:
                    raise unanswered.error from None
                self._writes.clock.pause(pause_s(unknown))
                unknown += 1
        raise MemoryConflict(f"{what}: others kept changing it, {PUT_ATTEMPTS} times")

    def _put(self, path: str, standing: Memory | None, content: str) -> bool:
        """Put a part on exactly what was read; False if another writer was first."""
        try:
            if standing is None:
                self._writes.create(path, content)
            else:
                self._writes.update(standing.id, content, standing.content_sha256)
        except (anthropic.ConflictError, anthropic.NotFoundError):
            return False
        except anthropic.APIError as error:
            if is_unknown(error):
                raise _Unanswered(error) from error
            raise
        return True

    def _search(self, folder: str, query: str) -> list[MemoryEntry]:
        words = adk_lines.words_of(query)
        scored = [
            (score, line.timestamp or "", part.path, line)
            for part in self._found(folder, query)
            for line in adk_lines.lines_of(part.content)
            if (score := adk_lines.shared_words(words, line))
        ]
        scored.sort(key=lambda one: one[:2], reverse=True)
        return [line.entry(path) for _, _, path, line in scored[: self._results]]

    def _found(self, folder: str, query: str) -> Iterator[Memory]:
        """Yield the parts under a folder that match a query, with their content; what is gone meanwhile is left out."""
        for memory_id, _ in searched(self._client, self._store_id, query, folder):
            try:
                yield self._memories.retrieve(memory_id, memory_store_id=self._store_id, view="full")
            except anthropic.NotFoundError:
                continue

    def _parts(self, folder: str) -> dict[int, Memory]:
        """Return the parts of one document by number, as the store's home knows them.

        A region may lack the newest part. A put on the part before it would be done: that one does not change any more.
        """
        listed = ((adk_lines.part_number(folder, part.path), part) for part in self._listed(folder))
        return {number: part for number, part in listed if number is not None}

    def _listed(self, folder: str) -> Iterator[Memory]:
        """Yield everything under a folder with its content, in order of path."""
        options: Any = {"limit": 20, "extra_headers": AT_HOME}
        for listed in self._memories.list(self._store_id, path_prefix=folder, view="full", **options):
            if listed.type == "memory":
                yield listed
