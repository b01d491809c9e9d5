"""A function finds its own bundle, the standard library and boto3, and nothing else: what AWS gives it.

The emulator runs functions with its own interpreter, whose environment holds all of the project's packages and the
project itself. A bundle that lacks a package would work here and fail on AWS. The variables that configure the
emulator (``LOG_LEVEL`` among them, which Powertools reads) are taken out of their environment too.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from scripts.local_cloud.patches import Patch, need

RUNTIME_PACKAGES = ("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3")
"""What the Python runtime of AWS Lambda carries beside the standard library."""

EMULATOR_VARIABLES = (
    "AUTH",
    "BIND_HOST",
    "GATEWAY_PORT",
    "IOT_MTLS_ENABLED",
    "LOG_LEVEL",
    "MINISTACK_ACCOUNT_ID",
    "MINISTACK_HOST",
    "S3_DATA_DIR",
    "SFTP_ENABLED",
    "STATE_DIR",
)
"""What the emulator is configured by. A function that sets one of them itself gets its own value back at its start."""


def make_runtime(folder: Path, packages: Iterable[str] = RUNTIME_PACKAGES) -> Path:
    """Lay out an interpreter that sees only ``packages``; returns its path.

    It is a shell script that starts this interpreter without its site-packages (`-S`); the packages are links.
    """
    site = folder / "packages"
    site.mkdir(parents=True, exist_ok=True)
    for package in packages:
        for source in _top_level(package):
            target = site / source.name
            if not target.is_symlink():
                target.symlink_to(source)
    launcher = folder / "python"
    launcher.write_text(
        "#!/bin/sh\n"
        f"unset {' '.join(EMULATOR_VARIABLES)}\n"
        f'PYTHONPATH={shlex.quote(str(site))} exec {shlex.quote(sys.executable)} -S -s "$@"\n'
    )
    launcher.chmod(0o755)
    return launcher


def _top_level(package: str) -> set[Path]:
    """List the files and folders that an installed distribution has put into site-packages."""
    distribution = metadata.distribution(package)
    names = {file.parts[0] for file in distribution.files or () if file.parts[0] not in {"..", "__pycache__"}}
    return {Path(str(distribution.locate_file(name))).resolve() for name in names}


def _apply() -> None:
    from ministack.core import lambda_runtime

    need(lambda_runtime, "_detect_runtime_binary")
    detect = lambda_runtime._detect_runtime_binary
    launcher = make_runtime(Path(os.environ["HOME"]).parent / "runtime")

    def bare(runtime: str) -> tuple[str, str]:
        binary, worker = detect(runtime)
        return (str(launcher) if runtime.startswith("python") else binary), worker

    lambda_runtime._detect_runtime_binary = bare


PATCH = Patch("bare_functions", "functions see this project's packages, so an incomplete bundle goes unnoticed", _apply)
