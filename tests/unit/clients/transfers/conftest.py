"""What the tests of ``memolith import`` and ``memolith export`` are tried on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.harness import Backend
from tests.unit.clients.conftest import backend_called


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """The commands speak HTTP to either; some of them are tried on a laptop too."""
    with backend_called(getattr(request, "param", "memolith")) as built:
        yield built
