"""Stores, memories and versions of an API, as its home regions know them, without the SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from memolith.clients.api.http import HttpApi
from memolith.core.paths import check_path

AT_HOME = {"x-memolith-consistency": "home"}
"""The header that asks for what the store's home knows."""

SHOW_WITHHELD = {"x-memolith-withheld": "show"}
"""The header that asks for withheld texts too."""

Query = Mapping[str, str | int]
STORES, SESSIONS, DREAMS = "/v1/memory_stores", "/v1/sessions", "/v1/dreams"
PAGE = 100


class ApiStaged(Exception):
    """A write that was not done: the store has it wait for a person, as the proposal `id`."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


class Record(dict[str, Any]):
    """A row as the API sent it, whose fields are attributes as well. A missing one is an AttributeError."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


class ApiClient:
    """One address, one key. May be shared between threads.

    Every method raises `memolith.clients.api.http.ApiRefused` and `ApiUnanswered`. Reads of memories and versions ask
    for what the store's home knows.

    Attributes:
        stores, memories, versions: the operations on each.
    """

    def __init__(self, http: HttpApi) -> None:
        self.http = http
        self.stores = Stores(self)
        self.memories = Memories(self)
        self.versions = Versions(self)

    def repeating_writes(self) -> ApiClient:
        """Return the same for a caller who recognizes a write that he has repeated."""
        return ApiClient(self.http.repeating_writes())

    def showing_withheld(self) -> ApiClient:
        """Return the same, asking for texts that the scanner withholds. Only an admin's key is given them."""
        return ApiClient(self.http.with_headers(SHOW_WITHHELD))

    def get(self, path: str, query: Query | None = None, *, at_home: bool = False) -> Record:
        """Ask for one thing."""
        return Record(self.http.send("GET", path, query, headers=AT_HOME if at_home else None))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Record:
        """Send a write."""
        return Record(self.http.send("POST", path, None, dict(body or {})))

    def write(self, path: str, body: Mapping[str, Any] | None = None) -> Record:
        """Send a write of a memory. Raises ApiStaged: it waits for a person."""
        return _written(self.post(path, body))

    def delete(self, path: str, query: Query | None = None) -> Record:
        """Delete one thing."""
        return Record(self.http.send("DELETE", path, query))

    def rows(self, path: str, query: Query | None = None, *, at_home: bool = False) -> Iterator[Record]:
        """Yield every row of a listing, a page at a time."""
        asked = dict(query or {})
        while True:
            answer = self.get(path, asked, at_home=at_home)
            yield from map(Record, answer["data"])
            if answer.get("next_page") is None:
                return
            asked["page"] = answer["next_page"]


class Stores:
    """The stores of the key's workspace."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, **query: str | int) -> Iterator[Record]:
        """Yield stores, newest first."""
        return self._api.rows(STORES, {"limit": PAGE, **query})

    def retrieve(self, store_id: str) -> Record:
        return self._api.get(address(store_id))

    def create(self, **fields: Any) -> Record:
        return self._api.post(STORES, fields)

    def update(self, store_id: str, **fields: Any) -> Record:
        return self._api.post(address(store_id), fields)

    def archive(self, store_id: str) -> Record:
        return self._api.post(address(store_id, "archive"))

    def delete(self, store_id: str) -> Record:
        return self._api.delete(address(store_id))


class Memories:
    """The memories of a store."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, store_id: str, **query: str | int) -> Iterator[Record]:
        """Yield memories and, with a depth, folders, by path."""
        return self._api.rows(address(store_id, "memories"), {"limit": PAGE, **query}, at_home=True)

    def retrieve(self, memory_id: str, *, memory_store_id: str, **query: str | int) -> Record:
        return self._api.get(address(memory_store_id, "memories", memory_id), query, at_home=True)

    def at(self, store_id: str, path: str) -> Record | None:
        """Find the memory at a path now. A listing of its folder, up to it. Raises InvalidRequest: it is no path."""
        folder = path[: path.rindex("/") + 1]
        if folder != path:
            check_path(path)
        listed = self.list(store_id, path_prefix=folder, depth=1)
        return next((row for row in listed if row.type == "memory" and row.path == path), None)

    def create(self, store_id: str, *, path: str, content: str, **more: str) -> Record:
        return self._api.write(address(store_id, "memories"), {"path": path, "content": content, **more})

    def update(self, memory_id: str, *, memory_store_id: str, **fields: Any) -> Record:
        return self._api.write(address(memory_store_id, "memories", memory_id), fields)

    def delete(self, memory_id: str, *, memory_store_id: str, expected_content_sha256: str) -> Record:
        at = address(memory_store_id, "memories", memory_id)
        return _written(self._api.delete(at, {"expected_content_sha256": expected_content_sha256}))


class Versions:
    """The versions of a store's memories."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, store_id: str, **query: str | int) -> Iterator[Record]:
        """Yield versions, newest first."""
        return self._api.rows(address(store_id, "memory_versions"), {"limit": PAGE, **query}, at_home=True)

    def retrieve(self, version_id: str, *, memory_store_id: str) -> Record:
        return self._api.get(address(memory_store_id, "memory_versions", version_id), at_home=True)


def redacted_in_words(memory: Mapping[str, Any]) -> str | None:
    """Say which secrets a write took out of a text before it was stored, and where; None if it took none."""
    secrets = memory.get("redacted") or ()
    if not secrets:
        return None
    told = ", ".join(f"{secret['kind']} in line {secret['line']}" for secret in secrets)
    return f"secrets were taken out before it was stored: {told}"


def _written(answer: Record) -> Record:
    """Return what a write was answered with. Raises ApiStaged for a proposal: it is not written."""
    if answer["type"] == "proposal":
        raise ApiStaged(str(answer["id"]))
    return answer


def address(*parts: str, of: str = STORES) -> str:
    """Return the address of a store, or of what is in it, by its parts; `of` dreams or sessions, of one of these."""
    return "/".join([of, *(quote(part, safe="", errors="surrogatepass") for part in parts)])
