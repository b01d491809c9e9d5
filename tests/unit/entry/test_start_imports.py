"""What a server of one machine leaves out of its start, because most of its lives never need it."""

from __future__ import annotations

import json
import subprocess
import sys

NEEDED_LATER = {
    "pydantic": "the first write",
    "jwt": "the first token, and the first seal",
    "cryptography": "the first token, and the first seal",
    "memolith.core.pipelines.cues": "the first extraction",
    "memolith.app.api.dream_runner": "the first dream",
    "memolith.app.search.packer": "the first store that is packed",
    "memolith.core.search.words": "the first store that is packed, and the first search",
}


def test_a_start_imports_nothing_that_only_a_later_call_needs() -> None:
    program = "import json, sys, memolith.entry.serve; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "memolith.app.api.service" in loaded
    assert loaded.isdisjoint(NEEDED_LATER), loaded & NEEDED_LATER.keys()
