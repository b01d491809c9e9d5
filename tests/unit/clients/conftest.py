"""A desk, before the API of Lambda's use cases and before that of ``memolith serve``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import typer.main

from memolith.scanner.database import DATABASE_NAME
from tests.api.harness import Backend, memolith_backend
from tests.api.laptop import laptop_backends
from tests.api.loopback import serving
from tests.support.folders import quick_folder
from tests.unit.clients.desk import Desk


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once() -> Iterator[None]:
    """Typer builds a command anew with each run, which a process of its own does once: a third of these tests' time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(params=["memolith", "laptop"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    with backend_called(request.param) as built:
        yield built


@contextmanager
def backend_called(name: str) -> Iterator[Backend]:
    """Lambda's use cases, or what ``memolith serve`` has."""
    if name == "memolith":
        yield memolith_backend()
        return
    with quick_folder() as root, laptop_backends(root) as build:
        yield build(10_000)


@pytest.fixture
def desk(
    backend: Backend,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    scanner_database: Path,
) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    root = tmp_path / "root"
    root.mkdir()
    (root / DATABASE_NAME).symlink_to(scanner_database)
    monkeypatch.setenv("MEMOLITH_ROOT", str(root))
    with serving(backend.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", backend.api_key)
        yield Desk(backend, capsys, monkeypatch)
