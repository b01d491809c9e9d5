"""Failures of ours: their status, what they keep to themselves, and how often the SDK repeats them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from memolith.app.kernel.results import RequestContext, Store
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from tests.api.harness import Backend, model_backend
from tests.api.model.stores import Stores


class Broken(Stores):
    """A model's stores that fail as they are told to."""

    failure: Exception

    def retrieve(self, call: RequestContext, store_id: str) -> Store:
        raise self.failure

    def archive(self, call: RequestContext, store_id: str) -> Store:
        raise self.failure


SECRET = "what nobody may see"


@pytest.mark.parametrize(
    ("failure", "status", "type", "reads", "writes"),
    [
        (Busy("busy"), 503, "overloaded_error", 3, 3),
        (Unavailable("rebuilding"), 503, "api_error", 3, 3),
        (OutcomeUnknown("lost"), 504, "timeout_error", 1, 1),
        (ValueError(SECRET), 500, "api_error", 3, 1),
        (RecursionError(SECRET), 500, "api_error", 3, 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_failure_of_ours_is_repeated_only_where_that_is_safe(
    failure: Exception,
    status: int,
    type: str,
    reads: int,
    writes: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ours: a write whose outcome nobody knows is not repeated blindly by the SDK."""
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    backend = broken_backend(failure)
    client = backend.client().beta.memory_stores
    calls: list[tuple[Callable[[], object], int]] = [
        (lambda: client.retrieve("s"), reads),
        (lambda: client.archive("s"), writes),
    ]
    for call, attempts in calls:
        backend.gateway.log.clear()
        with pytest.raises(anthropic.InternalServerError) as failed:
            call()
        assert (failed.value.status_code, failed.value.type) == (status, type)
        assert SECRET not in str(failed.value.body)
        assert len(backend.gateway.log) == attempts
    assert SECRET not in "".join(str(record.__dict__) for record in caplog.records)


def broken_backend(failure: Exception) -> Backend:
    """A backend whose model fails."""
    backend: Any = model_backend()
    backend.memolith.stores.__class__ = Broken
    backend.memolith.stores.failure = failure
    return backend  # type: ignore[no-any-return]  # it is a backend, of which any field is set
