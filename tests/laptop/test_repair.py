"""``memolith repair`` as a person types it whose server runs on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.laptop.processes import environment, serving


@pytest.mark.slow
def test_without_a_word_it_repairs_the_folder_of_this_machines_server_and_says_what_it_found(
    root: Path, tmp_path: Path
) -> None:
    with serving(root) as server:
        store = server.client().beta.memory_stores.create(name="s")
        server.client().beta.memory_stores.memories.create(store.id, path="/a", content="kept")
        done = subprocess.run(
            [sys.executable, "-m", "memolith.clients.cli", "repair"],
            env=environment()
            | {"MEMOLITH_ROOT": str(root), "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{root}: nothing is damaged\n")
