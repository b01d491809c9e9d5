"""A folder in step with a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.harness import Backend, memolith_backend
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import synced
from tests.unit.clients.transfers.reports import fill


@pytest.fixture
def backend() -> Backend:
    """The commands speak HTTP either way; what a laptop adds to that is tested with the others."""
    return memolith_backend()


@pytest.fixture
def folder(desk: Desk, tmp_path: Path) -> Path:
    """In step with the store: a.md, n/b.md."""
    root = fill(tmp_path / "folder", {"a.md": "one\n", "n/b.md": "two\n"})
    assert synced(desk, root) == {"/a.md": "sent", "/n/b.md": "sent"}
    return root
