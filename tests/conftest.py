"""What holds for every test."""

from __future__ import annotations

import gc
import os
import tempfile
from functools import cache
from pathlib import Path

import botocore.session
import pytest
from hypothesis import HealthCheck, settings

from tests.support.examples import examples
from tests.support.scanners import compiled_rules

settings.register_profile(
    "memolith",
    deadline=None,  # a machine that is busy elsewhere is no failure
    max_examples=examples(30),
    print_blob=True,  # a failure can be replayed from what it printed
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("memolith")

# What botocore knows of a service is megabytes of JSON, which every session of boto3 reads anew; here all share it.
botocore.session.create_loader = cache(botocore.session.create_loader)


# No test leaves keys in the configuration of whoever runs it; the processes that tests start have this folder too.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="memolith-seals-")


gc.disable()  # nothing of what is imported and collected is garbage


STARTED_ONCE = ("tests/infra/", "tests/contract/")
"""Folders whose tests share what takes a process seconds to start: CDK's kernel, which is Node.js, and the emulator."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with `STARTED_ONCE`: a worker is given a run of tests in their order, so that one of them starts it all."""
    items.sort(key=lambda item: not item.nodeid.startswith(STARTED_ONCE))


def pytest_collection_finish() -> None:
    """What was imported by now stays to the end: the garbage collector need not look at it again and again."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes of this run have, and no other run."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session")
def scanner_database() -> Path:
    """The scanner's compiled rules."""
    return compiled_rules()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A machine without FUSE must not pass for one on which mounts were tested."""
    reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if report.longrepr}
    for reason in sorted(reasons):
        terminalreporter.write_line(f"NOT TESTED: {reason.removeprefix('Skipped: ')}", yellow=True, bold=True)
