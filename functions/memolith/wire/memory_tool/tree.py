"""A store as a tree of files: what the memory tool asks of it, and that asked of the HTTP API.

Every method raises ToolFailure where the store refuses or does not answer, in words that a model can act on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Protocol
from urllib.parse import quote

from memolith.core.times import parse_rfc3339
from memolith.core.trust import UNKNOWN
from memolith.wire.errors import may_be_done
from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.texts import Staged, ToolFailure

PAGE = 100
AT_HOME = {"x-memolith-consistency": "home"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the API: its status, and its body as JSON."""

    status: int
    body: Mapping[str, Any]


class Caller(Protocol):
    """Any way to ask the API: an SDK's client, or the functions behind it, invoked."""

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request. Errors of the API are replies too.

        Raises:
            ToolFailure: there is no answer.
        """


@dataclass(frozen=True, slots=True)
class File:
    """A memory: `content` is None unless it was read, or where it is withheld. `trust` is the name of its class.

    `redacted` are the kinds of the secrets that a write took out of its content, one for each.
    """

    id: str
    path: str
    content_sha256: str
    size_bytes: int
    updated_at: str
    content: str | None = None
    trust: str = UNKNOWN
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folder:
    """A path that memories are under; it ends without a slash."""

    path: str


class Changed(Exception):
    """The content is no longer what it was; nothing was changed."""


class Gone(Exception):
    """The memory is no longer there; nothing was changed."""


class Occupied(Exception):
    """A memory is at the path, above it or under it; nothing was changed. It may have no id that could be told yet."""

    def __init__(self, path: str, memory_id: str = "") -> None:
        super().__init__(path)
        self.path, self.memory_id = path, memory_id


class Tree:
    """One store through the API.

    Args:
        caller: asks it.
        store_id: which store.
    """

    def __init__(self, caller: Caller, store_id: str) -> None:
        self._caller = caller
        self._store_id = store_id
        self._store = f"/v1/memory_stores/{quote(store_id, safe='')}"
        self._memories = f"{self._store}/memories"

    def find(self, path: str) -> File | Folder | None:
        """Find what is at `path`, without content; the root is always a folder.

        One listing of its folder, a page at a time, up to the place of the path.
        """
        if path == "":
            return Folder("")
        for item in self.children(path.rpartition("/")[0]):
            if item.path == path:
                return item
            if item.path > f"{path}/":
                return None
        return None

    def children(self, folder: str) -> Iterator[File | Folder]:
        """List what is directly in a folder, in order of path (a folder counts with its slash)."""
        return self._pages({"path_prefix": f"{folder}/", "depth": "1"})

    def under(self, folder: str) -> list[File]:
        """List every memory under a folder, at any depth."""
        return [item for item in self._pages({"path_prefix": f"{folder}/"}) if isinstance(item, File)]

    def read(self, memory_id: str) -> File:
        """Read a memory with its content.

        Raises:
            Gone; ToolFailure, also where the content is withheld.
        """
        body = self._ask("GET", f"{self._memories}/{memory_id}", {"view": "full"})
        file = _file(body)
        if file.content is None:
            raise ToolFailure(texts.REFUSED.format(reason="the content of this memory is withheld by the scanner"))
        return file

    def create(self, path: str, content: str) -> File:
        """Create a memory; return it without content. Raises Occupied, ToolFailure."""
        return _file(self._ask("POST", self._memories, body={"path": path, "content": content}))

    def update(self, file: File, content: str) -> File:
        """Replace the content that was read; return the file without content. Raises Changed, Gone, ToolFailure."""
        return self.update_on(file.id, file.content_sha256, content)

    def update_on(self, memory_id: str, sha256: str, content: str) -> File:
        """Replace content that has this hash. As `update`."""
        body = {"content": content, "precondition": {"type": "content_sha256", "content_sha256": sha256}}
        return _file(self._ask("POST", f"{self._memories}/{memory_id}", body=body))

    def remark(self, text: str) -> Mapping[str, Any]:
        """Append a remark to the log of the day; return the API's answer. Raises ToolFailure, Staged."""
        return self._ask("POST", f"{self._store}/log", body={"text": text})

    def rename(self, file: File, path: str) -> None:
        """Rename a memory, even if its content changed. One that is at the new path already is left there.

        Raises:
            Gone: also where it is at a third path. Occupied, ToolFailure.
        """
        now_at = self.at_home(file.id).path
        if now_at == path:
            return
        if now_at != file.path:
            raise Gone
        self._ask("POST", f"{self._memories}/{file.id}", body={"path": path})

    def delete(self, file: File, *, anywhere: bool = False) -> None:
        """Delete a memory, even if its content changed; one that is deleted or renamed already is no error.

        Args:
            anywhere: delete it also where it was renamed.
        """
        try:
            if anywhere or self.at_home(file.id).path == file.path:
                self._ask("DELETE", f"{self._memories}/{file.id}")
        except Gone:
            return

    def at_home(self, memory_id: str) -> File:
        """Return a memory as its store's home has it, without content. Raises Gone, ToolFailure.

        A deletion and a rename go by the memory's id, and the API takes no path as their precondition. Without this
        look they would take a memory that another client has moved away since it was listed.
        """
        reply = self._caller.call("GET", f"{self._memories}/{memory_id}", {"view": "basic"}, headers=AT_HOME)
        return _file(accepted(reply, may_be_gone=True))

    def stays_of(self, file: File) -> Iterator[tuple[str, int]]:
        """Yield each path at which this memory has been and since when, the newest first; what is redacted has none."""
        query = {"memory_id": file.id, "limit": str(PAGE)}
        rows = self._rows(f"{self._store}/memory_versions", query)
        for path, stay in groupby((row for row in rows if row["path"] is not None), key=itemgetter("path")):
            *_, first = stay
            yield path, parse_rfc3339(first["created_at"])

    def page(self, cursor: str | None) -> tuple[list[File], str | None]:
        """Return some of the store's memories, in order of path, and the cursor of the next ones."""
        query = {"limit": str(PAGE), **({"page": cursor} if cursor else {})}
        body = self._ask("GET", self._memories, query)
        return [_file(row) for row in body["data"] if row["type"] == "memory"], body["next_page"] or None

    def search(self, query: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """Find the memories that answer a query best, as the API has them and takes it. Raises ToolFailure."""
        rows: list[Mapping[str, Any]] = self._ask("GET", f"{self._store}/search", query)["data"]
        return rows

    def versions(self, limit: int, memory_id: str) -> list[Mapping[str, Any]]:
        """List the newest versions of a memory, as the API has them; 100 at most."""
        query = {"limit": str(min(limit, PAGE)), "memory_id": memory_id}
        rows = self._rows(f"{self._store}/memory_versions", query)
        return list(islice(rows, min(limit, PAGE)))

    def graph(self, operation: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask the store's graph, as the API answers; what is None is left out.

        Raises:
            Gone: `graph` was asked about a memory that is not there. ToolFailure, also where the store is not.
        """
        asked = {name: str(value) for name, value in query.items() if value is not None}
        reply = self._caller.call("GET", f"{self._store}/{operation}", asked)
        return accepted(reply, may_be_gone=operation == "graph" and not _names_store(reply))

    def proposals(
        self,
        method: str,
        proposal: str = "",
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Ask about the store's proposals, or about one by its id, as the API answers. Raises Gone, ToolFailure."""
        below = f"/{quote(proposal, safe='')}" if proposal else ""
        reply = self._caller.call(method, f"{self._store}/proposals{below}", query, body)
        if reply.status < 300:
            return reply.body
        return accepted(reply, may_be_gone=bool(proposal), writes=method != "GET")

    def conversations(self, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """Search what was said in sessions that have this store, as the API answers. Raises ToolFailure."""
        asked = {name: str(value) for name, value in query.items() if value is not None}
        reply = self._caller.call("GET", "/v1/sessions/search", {**asked, "memory_store_id": self._store_id}, None)
        return accepted(reply)

    def store(self) -> Mapping[str, Any]:
        """Return the store, as the API has it. Raises Gone, ToolFailure."""
        return self._ask("GET", self._store)

    def _pages(self, query: Mapping[str, str]) -> Iterator[File | Folder]:
        for row in self._rows(self._memories, {**query, "limit": str(PAGE)}):
            yield Folder(row["path"].rstrip("/")) if row["type"] == "memory_prefix" else _file(row)

    def _rows(self, path: str, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        page: str | None = None
        while True:
            body = self._ask("GET", path, {**query, **({"page": page} if page else {})})
            yield from body["data"]
            page = body["next_page"]
            if not page:
                return

    def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Ask the API. Only the store itself and a memory by its id may be gone: of all else a 404 names the store."""
        may_be_gone = path == self._store or path.startswith(f"{self._memories}/")
        reply = self._caller.call(method, path, query, body)
        return accepted(reply, may_be_gone=may_be_gone, writes=method != "GET")


def accepted(reply: Reply, *, may_be_gone: bool = False, writes: bool = False) -> Mapping[str, Any]:
    """Return the body of an answer that is no error.

    Args:
        may_be_gone: whether a 404 says that what was asked for is gone; otherwise it is a refusal like any other.
        writes: whether the request was to change something.

    Raises:
        Occupied, Changed, Gone; Staged where a write has become a proposal; ToolFailure for any other error.
    """
    if reply.status < 300 and reply.body.get("type") == "proposal":
        raise Staged(str(reply.body["id"]))
    if reply.status < 300:
        return reply.body
    error = reply.body.get("error") or {}
    reason = str(error.get("message") or f"status {reply.status}")
    match error.get("type"):
        case "memory_path_conflict_error":
            holder = error.get("conflicting_path"), error.get("conflicting_memory_id")
            raise Occupied(*(str(one or "") for one in holder))
        case "memory_precondition_failed_error":
            raise Changed
        case "memory_damaged_error":
            raise ToolFailure(texts.REFUSED.format(reason=reason))
        case "not_found_error" if may_be_gone:
            raise Gone
    if reply.status >= 500 or reply.status in (408, 429):
        maybe_done = writes and may_be_done(reply.status, str(error.get("type") or ""))
        raise texts.unanswered(reason, maybe_done=maybe_done)
    raise ToolFailure(texts.REFUSED.format(reason=_with_findings(reason, error.get("findings") or ())))


def _names_store(reply: Reply) -> bool:
    """Tell whether an error says that the store itself is not there."""
    return str((reply.body.get("error") or {}).get("message")).startswith("memory_store ")


def _file(row: Mapping[str, Any]) -> File:
    return File(
        id=row["id"],
        path=row["path"],
        content_sha256=row["content_sha256"],
        size_bytes=row["content_size_bytes"],
        updated_at=row["updated_at"],
        content=row.get("content"),
        trust=row.get("trust", UNKNOWN),
        redacted=tuple(secret["kind"] for secret in row.get("redacted", ())),
    )


def _with_findings(reason: str, findings: Any) -> str:
    """Return the reason, and for each finding of the scanner: where, why, and what to change."""
    told = [f"line {one['line']}: {one['reason']} ({one['rule']}). {one['remedy']}" for one in findings]
    return "\n".join([reason, *told])
