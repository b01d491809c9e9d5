"""What ``pip install '.[local]'`` brings is what ``memolith serve`` needs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

WITHOUT_THE_REST = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import memolith.entry.serve, memolith.clients.cli.main, memolith.clients.cli.serve
from memolith.scanner import Scanner
from memolith.wire import request_bodies
from memolith.wire.routes import table
"""


def brought_by(extra: str) -> set[str]:
    """Every distribution that an extra installs, and what those need in turn."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in PROJECT["optional-dependencies"][extra]]
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        if name == canonicalize_name(PROJECT["name"]):
            waiting += [Requirement(text) for one in needed.extras for text in PROJECT["optional-dependencies"][one]]
        elif name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            try:
                waiting += [Requirement(text) for text in requires(name) or ()]
            except PackageNotFoundError:
                continue
            found.add(name)
    return found


def test_serving_starts_where_nothing_else_is_installed() -> None:
    brought = brought_by("local") | {canonicalize_name(PROJECT["name"])}
    installed = packages_distributions()
    missing = [module for module, owners in installed.items() if not brought & set(map(canonicalize_name, owners))]
    assert {"boto3", "aws_lambda_powertools", "anthropic"} <= set(missing)
    done = subprocess.run([sys.executable, "-c", WITHOUT_THE_REST, *missing], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
