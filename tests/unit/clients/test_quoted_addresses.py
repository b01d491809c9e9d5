"""What names a store, a dream or a session is one segment of the address, so that no name addresses another route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest

from memolith.adapters.memory import ManualClock
from memolith.clients.api.http import ApiRefused, HttpApi
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.main import run
from memolith.clients.sdk import store_search
from memolith.clients.working_copy.http_store_client import HttpStoreClient
from memolith.wire.memory_tool.tree import Reply, Tree

HOSTILE = "1/memories/mem_1?view=full#a b"
COMMANDS = {
    "search memstore_{} word": "GET /v1/memory_stores/memstore_{}/search",
    "recall memstore_{} word": "GET /v1/memory_stores/memstore_{}/recall",
    "graph memstore_{} /a": "GET /v1/memory_stores/memstore_{}/graph",
    "observations memstore_{} word": "GET /v1/memory_stores/memstore_{}/observations",
    "activity memstore_{}": "GET /v1/memory_stores/memstore_{}/activity",
    "conflicts list memstore_{}": "GET /v1/memory_stores/memstore_{}/conflicts",
    "conflicts resolve memstore_{} conf_1 --keep both": "GET /v1/memory_stores/memstore_{}/conflicts",
    "ls memstore_{}": "GET /v1/memory_stores/memstore_{}/memories",
    "context sesn_{}": "POST /v1/sessions/sesn_{}/context",
    "dream show drm_{}": "GET /v1/dreams/drm_{}",
    "dream diff drm_{}": "GET /v1/dreams/drm_{}",
    "dream replay drm_{} --cassette none": "GET /v1/dreams/drm_{}",
    "dream cancel drm_{}": "POST /v1/dreams/drm_{}/cancel",
    "dream revert drm_{}": "POST /v1/dreams/drm_{}/revert",
}
"""Each command with a name in it, and the first request that it makes."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every request, each of which is refused."""
    asked: list[str] = []

    def send(self: HttpApi, method: str, path: str, *_: Any, **__: Any) -> dict[str, Any]:
        asked.append(f"{method} {path}")
        raise ApiRefused(404, {"error": {"type": "not_found_error", "message": "it was not found"}})

    monkeypatch.setattr(HttpApi, "send", send)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "memolith_1")
    return asked


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["useast1_01m32510vgpzchz383xe24nrdm", HOSTILE])
def test_a_command_asks_for_what_is_named_whatever_the_name(command: str, name: str, asked: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run([word.format(name) for word in command.split(" ")])
    is_no_id = command.startswith("context") and name == HOSTILE
    assert asked[:1] == ([] if is_no_id else [COMMANDS[command].format(quote(name, safe=""))])
    assert ended.value.code == (Exit.USAGE if is_no_id else Exit.NOT_FOUND)


def test_other_clients_quote_the_store_too() -> None:
    wanted = "/v1/memory_stores/memstore_" + quote(HOSTILE, safe="")
    asked: list[str] = []

    class Asking:
        """A client of each kind."""

        def get(self, path: str, **_: Any) -> Mapping[str, Any]:
            asked.append(path)
            return {"data": []}

        def call(self, method: str, path: str, *_: Any, **__: Any) -> Reply:
            asked.append(path)
            return Reply(200, {"data": [], "next_page": None})

    store = f"memstore_{HOSTILE}"
    asking: Any = Asking()
    store_search.searched(asking, store, "word", "/")
    Tree(asking, store).under("/a")
    assert asked == [f"{wanted}/search", f"{wanted}/memories"]
    client: Any = HttpStoreClient("http://127.0.0.1:1", "key", store, ManualClock())
    assert client._store == f"http://127.0.0.1:1{wanted}"
