"""What of this machine reaches the emulator, its functions and the commands."""

from __future__ import annotations

import os
from pathlib import Path

from scripts.local_cloud.environment import for_command, for_emulator
from scripts.local_cloud.layout import Layout


def test_nothing_of_the_host_reaches_the_emulator(tmp_path: Path) -> None:
    environment = for_emulator(Layout(tmp_path), 4567, enforce_iam=True)
    host = {name for name, value in os.environ.items() if environment.get(name) == value}
    assert host <= {"LANG", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "TZ"}
    assert environment["BIND_HOST"] == "127.0.0.1"
    assert environment["AUTH"] == "true"


def test_everything_the_emulator_writes_lies_below_its_folder(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    environment = for_emulator(layout, 4567, enforce_iam=False)
    for name in ("HOME", "TMPDIR", "STATE_DIR", "S3_DATA_DIR"):
        assert Path(environment[name]).is_relative_to(layout.emulator)


def test_a_command_cannot_reach_a_real_account_whatever_the_host_is_set_up_for(tmp_path: Path) -> None:
    host = {
        "AWS_PROFILE": "production",
        "AWS_ACCESS_KEY_ID": "AKIAREAL",
        "AWS_SESSION_TOKEN": "real",
        "AWS_ENDPOINT_URL_S3": "https://s3.amazonaws.com",
        "CDK_DEFAULT_ACCOUNT": "123456789012",
        "PIP_INDEX_URL": "https://packages.example",
        "HOME": "/home/someone",
    }
    environment = for_command(Layout(tmp_path), "http://127.0.0.1:1", "eu-west-1", host)
    aws = {name: value for name, value in environment.items() if name.startswith(("AWS_", "CDK_DEFAULT"))}
    assert aws == {
        "AWS_ACCESS_KEY_ID": "000000000000",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    }
    assert environment["PIP_INDEX_URL"] == "https://packages.example"
