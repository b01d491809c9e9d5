"""What other scanners say of texts: runs in a virtual environment of its own, which has nothing of Memolith.

    verdicts.py < {"group": ["text", ...], ...} > {"peer": {"group": [true, ...], ...}, ...}

True is a text that the peer would not let through. Each peer is asked in the way that its documentation shows first,
with the strictest choice that it offers there. Writes one line a peer to the standard error as it goes on.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agent_memory_guard import MemoryGuard, Policy, PolicyViolation
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings
from promptbadger import Scanner
from stackone_defender import create_prompt_defense

Peer = Callable[[str], bool]


def agent_memory_guard(text: str) -> bool:
    """Write a text under OWASP Agent Memory Guard's strict policy, into a memory that has nothing yet."""
    try:
        MemoryGuard(policy=Policy.strict()).write("session.notes", text)
    except PolicyViolation:
        return True
    return False


def promptbadger() -> Peer:
    """Return promptbadger as it reads what an agent fetched."""
    scanner = Scanner()
    return lambda text: scanner.scan_context(text).is_injection


def promptbadger_with_its_classifier() -> Peer:
    """Return promptbadger as it reads what a user typed: its classifier is asked for that alone."""
    scanner = Scanner(classifier=True)
    return lambda text: scanner.scan(text).is_injection


def stackone_defender() -> Peer:
    """Return StackOne's Defender with both tiers that need no service of others."""
    defense = create_prompt_defense(block_high_risk=True, require_tier2=True)
    defense.warmup_tier2()
    return lambda text: not defense.defend_tool_result({"content": text}, "memory").allowed


def detect_secrets(text: str) -> bool:
    """Look for a secret in a text, as in a file of a repository."""
    found = SecretsCollection()
    with tempfile.TemporaryDirectory() as folder, default_settings():
        file = Path(folder, "note.md")
        file.write_text(text, "utf-8")
        found.scan_file(str(file))
    return bool(found)


def main() -> None:
    """Judge every text by every peer."""
    logging.disable(logging.CRITICAL)
    groups: dict[str, list[str]] = json.load(sys.stdin)
    peers: dict[str, Peer] = {
        "agent-memory-guard 0.3.3": agent_memory_guard,
        "promptbadger 0.3.1": promptbadger(),
        "promptbadger, classifier": promptbadger_with_its_classifier(),
        "stackone-defender 0.9.4": stackone_defender(),
        "detect-secrets 1.5.0": detect_secrets,
    }
    said: dict[str, dict[str, list[bool]]] = {}
    for name, peer in peers.items():
        began = time.process_time()
        said[name] = {group: [peer(text) for text in texts] for group, texts in groups.items()}
        sys.stderr.write(f"{name}: {time.process_time() - began:.0f} s of CPU\n")
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
