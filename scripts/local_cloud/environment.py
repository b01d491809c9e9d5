"""What a child process gets to know of this machine.

Two rules. Nothing of the host may reach a function (an environment variable that happens to be set here would make a
function work that fails on AWS). And nothing may reach a real AWS account from here: every command runs with invented
credentials, no profile, no configuration file of the host, and the endpoint set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from scripts.local_cloud.layout import Layout

ACCOUNT = "000000000000"
"""The emulator's account. As an access key id it makes the caller that account's root user."""

SECRET = "test"  # noqa: S105  the emulator's documented root secret, the same on every machine

_HOST_ONLY = ("AWS_", "CDK_", "LOCALSTACK_", "MINISTACK_", "MEMOLITH_")


def credentials(region: str) -> dict[str, str]:
    """Return AWS variables that name the emulator's root user and shut out every profile and file of the host."""
    return {
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def for_emulator(layout: Layout, port: int, *, enforce_iam: bool) -> dict[str, str]:
    """Return the emulator's whole environment, which functions inherit where their configuration names nothing else.

    Built from nothing rather than from the host's, because functions inherit it.
    """
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(layout.emulator / "home"),
        "TMPDIR": str(layout.emulator / "tmp"),
        "STATE_DIR": str(layout.emulator / "state"),
        "S3_DATA_DIR": str(layout.emulator / "s3"),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": "localhost",
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "AUTH": "true" if enforce_iam else "false",
        "LOG_LEVEL": "WARNING",
        # Listeners of services that Memolith does not use; they would bind ports of their own.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }


def for_command(layout: Layout, endpoint: str, region: str, host: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a command that ``up`` runs: the host's, without AWS account and CDK settings.

    The rest stays because bundling installs packages, with the proxies and the package index that this machine is
    set up for. Caches and temporary files go below ``.memolith``.
    """
    source = os.environ if host is None else host
    kept = {name: value for name, value in source.items() if not name.startswith(_HOST_ONLY)}
    return {
        **kept,
        **credentials(region),
        "AWS_ENDPOINT_URL": endpoint,
        "TMPDIR": str(layout.temporary),
        "CDK_HOME": str(layout.cache / "cdk"),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(layout.cache / "jsii"),
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "FORCE_COLOR": "0",
    }


def ensure_folders(*folders: Path) -> None:
    """Make the folders, and their parents, that a process expects to exist."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
