"""Ours: who reads a whole store that was never read on this machine gets it in a few large pages."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_bytes
from typing import Any

import pytest
from anthropic import Anthropic

from memolith.core import ids
from memolith.core.times import rfc3339
from tests.mount.mounted import fuse_is_missing, mounted
from tests.support.relay import relay

MEMORIES = int(os.environ.get("MEMOLITH_COLD_MEMORIES", "0"))
"""How many are written first: 2,000 are what a mount is measured at, and take many minutes."""

WHY_NOT = fuse_is_missing()
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(bool(WHY_NOT), reason=f"NOTHING IS MOUNTED IN THESE TESTS: {WHY_NOT}"),
    pytest.mark.skipif(not MEMORIES, reason="A COLD MOUNT IS NOT MEASURED: set MEMOLITH_COLD_MEMORIES=2000"),
]

FOLDERS = 20
TEXT = "the build is green and the release is planned for the next week\n" * 32
"""Of 2 KB."""

BATCH, AT_ONCE = 5, 2
WITHIN_S = 120


def version(number: int) -> dict[str, Any]:
    """As a history has it: the one version of one memory."""
    now_us = time.time_ns() // 1_000
    return {
        "id": f"memver_{ids.ulid(now_us // 1_000, token_bytes(10))}",
        "memory_id": f"mem_{ids.ulid(now_us // 1_000, token_bytes(10))}",
        "operation": "created",
        "created_at": rfc3339(now_us),
        "path": f"/d{number % FOLDERS:02}/f{number:04}.md",
        "content": f"note {number}\n{TEXT}",
    }


@pytest.fixture
def full_store(sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str) -> str:
    """A store of many memories, made by the route that histories are brought in by."""
    client = sdk[regions[0]]

    def bring(first: int) -> None:
        versions = [version(number) for number in range(first, min(first + BATCH, MEMORIES))]
        answer: Any = client.post(
            f"/v1/memory_stores/{store_id}/memory_versions", cast_to=object, body={"versions": versions}
        )
        assert {row["status"] for row in answer["data"]} <= {"imported", "known"}

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(bring, range(0, MEMORIES, BATCH)))
    return store_id


def grep_s(folder: Path) -> float:
    """Searches a folder for what every file in it has; seconds."""
    began = time.monotonic()
    words = ["grep", "-rl", "release is planned", str(folder)]
    found = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, check=True)
    assert len(found.stdout.splitlines()) == MEMORIES
    return time.monotonic() - began


def test_a_cold_grep_is_fetched_in_a_few_large_pages(
    dev: dict[str, Any],
    regions: tuple[str, ...],
    full_store: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, key = dev["regions"][regions[0]]["api_url"], dev["api_key"]
    with relay(url) as through, mounted(through.url, key, full_store, tmp_path / "a", "--interval", "3600") as mount:
        before = len(through.asked)
        grep_s(mount.folder)
        asked = through.asked[before:]
    with mounted(url, key, full_store, tmp_path / "b", "--interval", "3600") as mount:
        cold, _, warm = (grep_s(mount.folder) for _ in range(3))
    with capsys.disabled():
        sys.stdout.write(
            f"\ngrep -r over {MEMORIES} memories: cold {cold:.2f} s in {len(asked)} requests, warm {warm:.2f} s\n"
        )
    pages = [one for one in asked if "/pack" in one]
    assert 0 < len(pages) <= 10
    assert len(asked) - len(pages) <= 10
