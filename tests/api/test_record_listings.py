"""A page of the largest records fits into an answer, and is continued."""

from __future__ import annotations

import json

import pytest

from tests.api.harness import Backend
from tests.api.test_limits import LAMBDA_ANSWER_MAX_BYTES

STORES = 60
SESSIONS = 22


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


def listed(backend: Backend, path: str, limit: int) -> list[str]:
    """The ids of all rows, of pages of which each fits into an answer."""
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = backend.answer(backend.event("GET", path, f"limit={limit}" + (f"&page={cursor}" if cursor else "")))
        assert answer["statusCode"] == 200
        assert len(json.dumps(answer).encode()) < LAMBDA_ANSWER_MAX_BYTES
        page = json.loads(answer["body"])
        found += [row["id"] for row in page["data"]]
        cursor = page["next_page"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("character", ["ж", "🧠", '"'])
def test_a_page_of_the_largest_stores_and_sessions_fits_into_an_answer(backend: Backend, character: str) -> None:
    client = backend.client()
    metadata = {f"{number:064}": character * 512 for number in range(16)}
    name, description = character * 255, character * 1_024
    made = client.beta.memory_stores
    stores = [made.create(name=name, description=description, metadata=metadata).id for _ in range(STORES)]
    assert sorted(listed(backend, "/v1/memory_stores", 100)) == sorted(stores)
    sessions = [
        client.beta.sessions.create(
            agent="agent_1",
            environment_id="env_1",
            metadata=metadata,
            resources=[
                {"type": "memory_store", "memory_store_id": store, "instructions": character * 4_096}
                for store in stores[:8]
            ],
        ).id
        for _ in range(SESSIONS)
    ]
    for limit in (20, 100):
        assert sorted(listed(backend, "/v1/sessions", limit)) == sorted(sessions)
