"""The same random calls on the reference model and on the real thing, in one region and across two: the same answers.

What may differ is taken out first: ids become numbers in order of appearance, instants and cursors are dropped,
messages are not compared, and of several memories that block a path any may be named. A failure prints its seed and
the calls that led to it.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.harness import Backend, Reply, far_backend, memolith_backend, model_backend
from tests.support.examples import examples

STORES = "/v1/memory_stores"
CAP = 7
SEEDS = range(16, 16 + examples(20))
"""The first ten meet every status that is asked for below."""

STEPS = 80
PATHS = ["/a", "/a/b", "/a/b/c", "/a/d", "/b", "/b/c", "/a!", "/é", "/x/y/z", "/x/y", "/z"]
REFUSED_PATHS = ["/e\u0301", "//", "/a/", ""]
CONTENTS = ["", "x", "y", "ä\x00"]
ABSENT = {
    "memory": "memories/mem_01kb0000000000000000000000",
    "memory_version": "memory_versions/memver_01kb0000000000000000000000",
}
VIEWS = ["", "view=full", "view=basic"]

_ID = re.compile(r"(memstore|mem|memver|apikey)_[0-9a-z_]+")
_INSTANTS = {"created_at", "updated_at", "archived_at", "redacted_at", "erase_after"}


class Side:
    """One backend: what it was asked and made so far."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._numbers: dict[str, str] = {}
        self.urls: dict[str, list[str]] = {"memory_store": [], "memory": [], "memory_version": []}

    def ask(self, method: str, url: str, query: str, body: object) -> tuple[object, ...]:
        """Status, and what can be compared of the body. ``{memory:3}`` in `url` stands for the third one's path."""
        reply = self._backend.raw(method, self._resolve(url), query, body)
        self._learn(reply.body)
        return self._comparable(reply)

    def pages(self, url: str, query: str) -> tuple[object, ...]:
        """All rows of a listing, its pages followed; or the refusal."""
        rows: list[object] = []
        cursor = ""
        while True:
            reply = self._backend.raw("GET", self._resolve(url), query + cursor)
            self._learn(reply.body)
            if reply.status != 200:
                return self._comparable(reply)
            rows += [self._normal(row) for row in reply.body["data"]]
            if reply.body["next_page"] is None:
                return (200, rows)
            cursor = f"&page={reply.body['next_page']}"

    def id_of(self, reference: str) -> str:
        """The last part of what a reference stands for."""
        return self._resolve(reference).rpartition("/")[2]

    def _resolve(self, text: str) -> str:
        return re.sub(r"\{(\w+):(\d+)\}", lambda match: self.urls[match[1]][int(match[2])], text)

    def _learn(self, body: dict[str, Any]) -> None:
        for row in body.get("data", [body]):
            if row["type"] == "memory_store":
                self._see("memory_store", f"{STORES}/{row['id']}")
            if row["type"] in ("memory", "memory_version"):
                store = f"{STORES}/{row['memory_store_id']}"
                version_id = row.get("memory_version_id", row["id"])
                self._see("memory", f"{store}/memories/{row.get('memory_id', row['id'])}")
                self._see("memory_version", f"{store}/memory_versions/{version_id}")

    def _see(self, kind: str, url: str) -> None:
        if url not in self.urls[kind]:
            self.urls[kind].append(url)

    def _comparable(self, reply: Reply) -> tuple[object, ...]:
        return (reply.status, self._normal(reply.body) if reply.status == 200 else reply.error["type"])

    def _normal(self, value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._normal(inner, name) for name, inner in value.items()}
        if field in _INSTANTS:
            return value is not None
        if isinstance(value, str) and (match := _ID.fullmatch(value)):
            return self._numbers.setdefault(value, f"{match[1]}#{len(self._numbers)}")
        return value


class Comparison:
    """Asks both sides the same, one random step after the other."""

    def __init__(self, seed: int, build: Callable[[int], Backend], statuses: Counter[tuple[str, object]]) -> None:
        self._random = random.Random(seed)
        self._sides = [Side(model_backend(CAP)), Side(build(CAP))]
        self._statuses = statuses
        self._history = [f"seed {seed}"]
        self._ask("create_store", "POST", STORES, "", {"name": "s", "metadata": {"k": "v"}})

    def step(self) -> None:
        steps = [self._create, self._update, self._read, self._list, self._list_versions]
        rare = [self._delete, self._redact, self._change_store, self._stray]
        self._random.choices([*steps, *rare], [6, 6, 2, 2, 2, 2, 2, 1, 1])[0]()

    def _create(self) -> None:
        body = {"path": self._path(), "content": self._random.choice(CONTENTS)}
        self._ask("create", "POST", self._one("memory_store") + "/memories", self._random.choice(VIEWS), body)

    def _update(self) -> None:
        content = self._random.choice([None, *CONTENTS])
        path = self._random.choice([None, None, self._path()])
        body: dict[str, object] = {"content": content, "path": path}
        if self._random.random() < 0.5:
            expected = hashlib.sha256(self._random.choice(CONTENTS).encode()).hexdigest()
            body["precondition"] = {"type": "content_sha256", "content_sha256": expected}
        self._ask("update", "POST", self._one("memory"), self._random.choice(VIEWS), body)

    def _delete(self) -> None:
        expected = hashlib.sha256(self._random.choice(CONTENTS).encode()).hexdigest()
        query = self._random.choice(["", f"expected_content_sha256={expected}"])
        self._ask("delete", "DELETE", self._one("memory"), query)

    def _read(self) -> None:
        kind = self._random.choice(["memory", "memory_version"])
        self._ask(f"retrieve {kind}", "GET", self._one(kind), self._random.choice(VIEWS))

    def _list(self) -> None:
        prefix = self._random.choice(["", "", "&path_prefix=" + quote(self._path() + "/")])
        query = f"depth={self._random.randrange(2)}&limit={self._limit()}&{self._random.choice(VIEWS)}{prefix}"
        self._pages("list", self._one("memory_store") + "/memories", query)

    def _list_versions(self) -> None:
        query = f"limit={self._limit()}&{self._random.choice(VIEWS)}"
        operation = self._random.choice(["", "", "&operation=created", "&operation=modified", "&operation=deleted"])
        url = self._one("memory_store") + "/memory_versions"
        memory = self._random.choice(["", self._one("memory")])
        expected, actual = [
            side.pages(url, query + operation + (f"&memory_id={side.id_of(memory)}" if memory else ""))
            for side in self._sides
        ]
        self._compare("list versions", f"{url} {query}{operation} {memory}", expected, actual)

    def _redact(self) -> None:
        self._ask("redact", "POST", self._one("memory_version") + "/redact")

    def _change_store(self) -> None:
        store = self._one("memory_store")
        change = self._random.choice(
            [{}, {"name": "t"}, {"metadata": {"k": None}}, {"metadata": {"l": "m"}}, {"description": "d"}]
        )
        name, method, url, body = self._random.choice(
            [
                ("update store", "POST", store, change),
                ("update store", "POST", store, change),
                ("retrieve store", "GET", store, None),
                ("create store", "POST", STORES, {"name": "another"}),
                ("archive", "POST", store + "/archive", None),
                ("restore", "POST", store + "/restore", None),
                ("delete store", "DELETE", store, None),
            ]
        )
        self._ask(name, method, url, "", body)
        archived = self._random.choice(["true", "false"])
        self._pages("list stores", STORES, f"limit={self._limit()}&include_archived={archived}")
        self._pages("list deleted stores", STORES, f"limit={self._limit()}&deleted=true")

    def _stray(self) -> None:
        """A memory asked for in whatever store, or as if it were a version."""
        store, memory = self._one("memory_store"), self._one("memory")
        kind = self._random.choice(["memories", "memory_versions"])
        expected, actual = [side.ask("GET", f"{store}/{kind}/{side.id_of(memory)}", "", None) for side in self._sides]
        self._compare("stray", f"{store}/{kind} {memory}", expected, actual)

    def _one(self, kind: str) -> str:
        """A reference to one of a kind, rather a late one; to one that does not exist while there is none."""
        count = len(self._sides[0].urls[kind])
        if not count:
            return "{memory_store:0}/" + ABSENT[kind]
        return f"{{{kind}:{max(self._random.randrange(count), self._random.randrange(count))}}}"

    def _path(self) -> str:
        return self._random.choice(REFUSED_PATHS if self._random.random() < 0.05 else PATHS)

    def _limit(self) -> int:
        return self._random.choice([1, 2, 3, 100])

    def _ask(self, name: str, method: str, url: str, query: str = "", body: object = None) -> None:
        expected, actual = [side.ask(method, url, query, body) for side in self._sides]
        self._compare(name, f"{method} {url} {query} {body}", expected, actual)

    def _pages(self, name: str, url: str, query: str) -> None:
        expected, actual = [side.pages(url, query) for side in self._sides]
        self._compare(name, f"{url} {query}", expected, actual)

    def _compare(self, name: str, call: str, expected: tuple[object, ...], actual: tuple[object, ...]) -> None:
        self._history.append(f"{call} -> {expected[0]}")
        self._statuses[name, expected[0]] += 1
        assert actual == expected, "\n".join(self._history)


@pytest.mark.seeds
@pytest.mark.parametrize("build", [memolith_backend, far_backend], ids=["one region", "from afar"])
def test_the_real_thing_answers_as_the_model_does(build: Callable[[int], Backend]) -> None:
    statuses: Counter[tuple[str, object]] = Counter()
    for seed in SEEDS:
        comparison = Comparison(seed, build, statuses)
        for _ in range(STEPS):
            comparison.step()
    met = {(name, status) for name, status in statuses}
    wanted = {
        *(("create", status) for status in (200, 400, 404, 409)),
        *(("update", status) for status in (200, 400, 404, 409)),
        *(("delete", status) for status in (200, 404, 409)),
        *(("redact", status) for status in (200, 400, 404)),
        *(("retrieve memory", status) for status in (200, 404)),
        *(("list", status) for status in (200, 400, 404)),
        *(("list versions", status) for status in (200, 404)),
    }
    assert wanted <= met, "the calls must have been worth comparing"
