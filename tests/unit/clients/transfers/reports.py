"""Folders to import and export, and what the two commands report of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.clients.desk import Desk

MEMORY_MD = "- [Builds](builds.md) — how the app is built\n"
TOPIC = "---\nname: builds\ndescription: how the app is built\ntype: project\n---\n\nUse make.\n\n**Why:** one way.\n"
NOTE = "---\ntitle: Café\npermalink: cafe\n---\n\n- [fact] open at 8 #hours (winter)\n- serves [[Coffee]]\n\r\n"


on_both = pytest.mark.parametrize("backend", ["memolith", "laptop"], indirect=True)


def fill(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def texts(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def reasons(report: dict[str, Any]) -> dict[str, str]:
    """What the report says of everything that did not simply go through."""
    return {row["path"]: row["reason"] for row in report["rows"] if row["reason"]}


def moved(desk: Desk, *words: str, code: int = 0) -> dict[str, Any]:
    """A command's report."""
    ended, out, _ = desk.run(*words, "--json")
    assert ended == code, out
    report: dict[str, Any] = json.loads(out)
    return report
