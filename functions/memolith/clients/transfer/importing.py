"""Files become memories, each by one conditional write; what is there already with the same text is left alone.

An import that was stopped is run again: it goes on with what is missing. A store may have writes wait for a person:
each file is a proposal then, and what waits already is not proposed again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from memolith.clients.api.client import PAGE, ApiClient, ApiStaged, address, redacted_in_words
from memolith.clients.api.http import NOT_FOUND, ApiRefused
from memolith.clients.transfer.discovery import File, text_of
from memolith.clients.transfer.report import Row, Tell
from memolith.core.approval import WRITE
from memolith.core.decide import sha256_hex

IN_FLIGHT = 8
"""Writes at once: their round trips overlap, and one caller does not take a deployment's concurrency for itself."""

RENAMED = "another client renamed the memory that was here to {} meanwhile"
DELETED = "another client deleted the memory that was here meanwhile"
CONFLICT = 409
_REFUSALS = frozenset({400, 404, 413})
"""What ends one file's import; any other error ends them all."""


class Importer:
    """Brings files into one store.

    Args:
        replace: whether another text at a file's path is written over, on the condition that it is still the one that
            was listed; otherwise it is kept.
        max_trust: the best trust class that a text of them gets; None for that of the key.
    """

    def __init__(
        self,
        client: ApiClient,
        store_id: str,
        *,
        replace: bool = False,
        dry_run: bool = False,
        max_trust: str | None = None,
    ) -> None:
        self._client = client
        self._memories = client.repeating_writes().memories
        self._store_id = store_id
        self._replace = replace
        self._dry_run = dry_run
        self._trust = {} if max_trust is None else {"max_trust": max_trust}

    def run(self, files: Iterable[File], tell: Tell) -> None:
        """Import files and report what became of each, in any order. A listing; a call per new file, two per changed.

        Where the store has writes wait for a person, also a call for each proposal that is open.

        Raises:
            ApiUnanswered; ApiRefused: 401, 403, 429 and 5xx. What was reported was done.
        """
        there, waits = self._there(), self._waiting()
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            waiting: deque[Future[Row]] = deque()
            try:
                for file in files:
                    waiting.append(self._submit(pool, file, there, waits))
                    if len(waiting) >= 4 * IN_FLIGHT:
                        tell(waiting.popleft().result())
                while waiting:
                    tell(waiting.popleft().result())
            finally:
                for future in waiting:
                    future.cancel()

    def _there(self) -> Mapping[str, Any]:
        if not self._store_id:
            return {}
        pages = self._memories.list(self._store_id)
        return {row.path: row for row in pages if row.type == "memory"}

    def _waiting(self) -> Mapping[tuple[str, str], str]:
        """Return which proposal waits already, by the path and the hash of its text. No call more than one for a store
        that has no writes wait.
        """
        if not self._store_id:
            return {}
        policy = self._client.stores.retrieve(self._store_id).get("approval") or {}
        if not policy.pop("paths", None) and set(policy.values()) <= {WRITE}:
            return {}
        proposals = address(self._store_id, "proposals")
        open_ones = [one.id for one in self._client.rows(proposals, {"status": "open", "limit": PAGE})]
        return {
            (edit["path"], edit["content_sha256"]): proposal
            for proposal in open_ones
            for edit in self._client.get(f"{proposals}/{proposal}")["edits"] or ()
        }

    def _submit(
        self, pool: ThreadPoolExecutor, file: File, there: Mapping[str, Any], waits: Mapping[tuple[str, str], str]
    ) -> Future[Row]:
        """Submit a file after reading it here, in one thread, because an archive has one position."""
        done: Future[Row] = Future()
        try:
            text = text_of(file)
        except ValueError as error:
            done.set_result(Row(file.path, "left out", str(error)))
            return done
        live = there.get(file.path)
        if live is not None and live.content_sha256 == sha256_hex(text):
            done.set_result(Row(file.path, "unchanged"))
        elif live is not None and not self._replace:
            done.set_result(Row(file.path, "kept", "the store has another text there (--replace writes over it)"))
        elif (proposal := waits.get((file.path, sha256_hex(text)))) is not None:
            done.set_result(_staged(file.path, proposal))
        elif self._dry_run:
            done.set_result(Row(file.path, "created" if live is None else "changed"))
        else:
            return pool.submit(self._bring, file.path, text, live)
        return done

    def _bring(self, path: str, text: str, live: Any) -> Row:
        """Write a file's text. Where another client has renamed or deleted the memory since it was listed, its path is
        free.
        """
        try:
            meanwhile = None if live is None else self._replaced(path, text, live)
            if isinstance(meanwhile, Row):
                return meanwhile
            done = self._memories.create(self._store_id, path=path, content=text, **self._trust)
            return Row(path, "created", "; ".join(filter(None, (meanwhile, redacted_in_words(done)))) or None)
        except ApiStaged as staged:
            return _staged(path, staged.id)
        except ApiRefused as error:
            if error.status == CONFLICT:
                return self._after_conflict(path, text, error)
            if error.status in _REFUSALS:
                return Row(path, "refused", error.message)
            raise

    def _replaced(self, path: str, text: str, live: Any) -> Row | str:
        """Write over a memory; or write nothing, and return why its path is free.

        The home is asked first where it is: a path is no precondition, so that its text alone would decide.
        """
        try:
            now = self._memories.retrieve(live.id, memory_store_id=self._store_id, view="basic").path
            if now != path:
                return RENAMED.format(now)
            still: Any = {"type": "content_sha256", "content_sha256": live.content_sha256}
            fields = {"content": text, "precondition": still, **self._trust}
            done = self._memories.update(live.id, memory_store_id=self._store_id, **fields)
        except ApiRefused as error:
            if error.kind != NOT_FOUND:
                raise
            return DELETED
        changed = done.memory_version_id != live.memory_version_id
        return Row(path, "changed" if changed else "unchanged", redacted_in_words(done))

    def _after_conflict(self, path: str, text: str, error: ApiRefused) -> Row:
        """Recognise a write that was repeated after its answer was lost and now conflicts with itself."""
        live = self._memories.at(self._store_id, path)
        if live is not None and live.content_sha256 == sha256_hex(text):
            return Row(path, "created")
        return Row(path, "kept", error.message)


def _staged(path: str, proposal: str) -> Row:
    return Row(path, "staged", f"waits for approval as {proposal}")
