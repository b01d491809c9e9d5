"""The commands: what they refuse, what they say, and how ``memolith dev`` finds the checkout they belong to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from memolith.clients.cli import dev, main
from scripts.local_cloud import commands, emulator
from scripts.local_cloud.deployment import Plan
from scripts.local_cloud.layout import PROJECT_ROOT, Layout
from scripts.local_cloud.lifecycle import Choices, LocalCloud, LocalCloudError, check_answers
from scripts.local_cloud.processes import ProcessFiles, Running
from scripts.local_cloud.replication.control import Control
from tests.local_cloud.conftest import Pair


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalCloud:
    """The commands' cloud, in a folder of the test."""
    made = LocalCloud(Layout(tmp_path))
    monkeypatch.setattr(commands, "LocalCloud", lambda **_: made)
    return made


def run(*words: str) -> tuple[int, str]:
    """Run a command of ``python -m scripts.local_cloud``; its exit code and what it printed."""
    done = CliRunner().invoke(commands.app, list(words))
    return done.exit_code, done.output


def test_status_says_that_nothing_runs_and_exits_with_1(cloud: LocalCloud) -> None:
    status, output = run("status")
    assert status == 1
    assert "memolith dev up" in output


def test_down_of_nothing_is_no_error(cloud: LocalCloud) -> None:
    assert run("down") == (0, "Nothing was running.\n")


def test_as_json_they_say_one_value_also_where_nothing_runs(cloud: LocalCloud) -> None:
    status, output = run("status", "--json")
    assert (status, json.loads(output)) == (1, None)
    assert json.loads(run("down", "--json")[1]) == {"ended": []}


def test_what_fails_is_in_order_a_line_each_or_as_json(cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    striking = {"cut": ["eu-west-1"], "throttle": {"us-east-1": 0.2}, "lose_replies": {}, "struck": {"cut": 3}}
    monkeypatch.setattr(LocalCloud, "faults", lambda self, wanted: striking)
    assert json.loads(run("faults", "--json")[1]) == striking
    assert run("faults")[1].splitlines() == [
        "cut          eu-west-1",
        "throttle     us-east-1=0.2",
        "struck       cut=3",
    ]


def test_replication_without_a_cloud_says_how_to_start_one(cloud: LocalCloud) -> None:
    status, output = run("replication", "--lag-ms", "5")
    assert status == 1
    assert "memolith dev up" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["replication", "--pause", "us-east-1"], "FROM:TO"),
        (["replication", "--duplicate", "2"], "duplicate"),
        (["up", "--override", "{"], "not JSON"),
        (["up", "--override", "[1]"], "JSON object"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_before_anything_starts(
    cloud: LocalCloud, words: list[str], said: str
) -> None:
    status, output = run(*words)
    assert status == 2
    assert said in output
    assert not cloud.layout.home.exists()


@pytest.fixture
def replicating(cloud: LocalCloud, pair: Pair) -> Iterator[LocalCloud]:
    """A cloud whose ``dev.json`` names a replicator that runs."""
    control = Control(pair.replicate())
    control.start()
    cloud.layout.home.mkdir()
    cloud.layout.dev_file.write_text(json.dumps({"replication": {"control_url": control.url}}))
    yield cloud
    control.stop()


@pytest.mark.slow
def test_replication_changes_the_settings_it_is_given_and_no_others(replicating: LocalCloud) -> None:
    def settings(*words: str) -> Any:
        status, output = run("replication", "--json", *words)
        assert status == 0
        return json.loads(output)

    settings("--lag-ms", "50", "--pause", "us-east-1:eu-west-1", "--pause", "eu-west-1:*")
    answer = settings("--duplicate", "0.5")
    assert (answer["lag_ms"], answer["duplicate"]) == (50, 0.5)
    assert answer["pause"] == [["eu-west-1", "*"], ["us-east-1", "eu-west-1"]]
    assert settings("--hold", "us-east-1/log/")["hold"] == ["us-east-1/log/"]
    assert "us-east-1/log/" in run("replication")[1]
    resumed = settings("--resume")
    assert (resumed["pause"], resumed["hold"]) == ([], [])
    status, output = run("replication")
    assert status == 0
    assert "us-east-1 → eu-west-1" in output


def test_a_running_cloud_is_not_mistaken_for_one_with_other_choices(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.layout.home.mkdir()
    started = {"regions": ["us-east-1"], "stage": "dev", "enforce_iam": False, "endpoint": "x", "own_emulator": False}
    cloud.layout.cloud_file.write_text(json.dumps(started))
    monkeypatch.setattr(emulator, "answers", lambda _endpoint: True)
    with pytest.raises(LocalCloudError, match=r"regions \['us-east-1'\].*memolith dev down"):
        cloud.up(Choices(("us-east-1", "eu-west-1")))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Choices(("us-east-1",), endpoint="http://127.0.0.1:4566/"), "endpoint 'http://127.0.0.1:41000', not 'http"),
        (Choices(("us-east-1",), port=4566), "port 41000, not 4566"),
    ],
    ids=["endpoint", "port"],
)
def test_a_running_cloud_takes_no_deployment_that_is_meant_for_another_address(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, asked: Choices, said: str
) -> None:
    cloud.layout.home.mkdir()
    started = {"regions": ["us-east-1"], "stage": "dev", "enforce_iam": False, "own_emulator": False}
    cloud.layout.cloud_file.write_text(json.dumps({**started, "endpoint": "http://127.0.0.1:41000"}))
    monkeypatch.setattr(emulator, "answers", lambda _endpoint: True)
    monkeypatch.setattr(LocalCloud, "_deploy", lambda *_: pytest.fail("it was deployed"))
    with pytest.raises(LocalCloudError, match=f"{said}.*memolith dev down"):
        cloud.up(asked)


@pytest.mark.parametrize("option", [{"port": 4566}, {"enforce_iam": True}], ids=["port", "enforce-iam"])
def test_an_option_of_our_own_emulator_is_refused_beside_another_ones_endpoint(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, option: dict[str, Any]
) -> None:
    monkeypatch.setattr(emulator, "answers", lambda _endpoint: True)
    monkeypatch.setattr(LocalCloud, "_deploy", lambda *_: pytest.fail("it was deployed"))
    with pytest.raises(LocalCloudError, match=r"--port and --enforce-iam .* http://127.0.0.1:4566"):
        cloud.up(Choices(("us-east-1",), endpoint="http://127.0.0.1:4566", **option))
    assert not cloud.layout.cloud_file.exists()


def test_up_changes_the_settings_of_a_replicator_that_runs(
    replicating: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    control_url = json.loads(replicating.layout.dev_file.read_text())["replication"]["control_url"]
    replicating.layout.replication.mkdir()
    (replicating.layout.replication / "ready.json").write_text(json.dumps({"control_url": control_url}))
    monkeypatch.setattr(ProcessFiles, "find", lambda _self, name: Running(name, 1, "token"))
    replicating._replicate(
        Plan("http://x", "dev", ("us-east-1",), {}), Choices(("us-east-1",), settings={"lag_ms": 70})
    )
    assert replicating.replication({})["lag_ms"] == 70


@dataclass
class Api:
    """A server of the test: where it is, and the status it answers every call with."""

    url: str
    status: int = 200


@pytest.fixture
def api() -> Iterator[Api]:
    """A server on a free port."""
    made = Api("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(made.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield made
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 401, 404])
def test_an_api_that_refuses_a_call_without_a_key_answers(api: Api, status: int) -> None:
    api.status = status
    check_answers({"us-east-1": api.url})


def test_an_api_whose_function_fails_does_not_answer(api: Api) -> None:
    api.status = 502
    with pytest.raises(LocalCloudError, match="in us-east-1 is answered 502"):
        check_answers({"us-east-1": api.url})


def test_an_api_that_nobody_serves_does_not_answer() -> None:
    with pytest.raises(LocalCloudError, match="is not answered"):
        check_answers({"us-east-1": f"http://127.0.0.1:{emulator.free_port()}"})


def test_what_the_caller_overrides_is_merged_into_what_the_local_cloud_needs() -> None:
    plan = Plan("http://x", "dev", ("us-east-1",), {"limits": {"memories_per_store": 7}, "log_level": "DEBUG"})
    record = json.loads(plan.context())
    assert record["limits"] == {"indexer_concurrency": 2, "erase_delay_days": 0, "memories_per_store": 7}
    assert record["log_level"] == "DEBUG"
    assert record["bundling"] == "host"


@pytest.mark.slow
def test_memolith_dev_forwards_its_words_and_its_exit_code_to_the_checkout() -> None:
    done = CliRunner().invoke(main.app, ["dev", "replication", "--pause", "nonsense"])
    assert done.exit_code == 2


def test_memolith_dev_finds_the_checkout_that_it_is_called_in(tmp_path: Path) -> None:
    (tmp_path / "scripts" / "local_cloud").mkdir(parents=True)
    (tmp_path / "scripts" / "local_cloud" / "__main__.py").touch()
    (tmp_path / "below").mkdir()
    assert dev.find_checkout(tmp_path / "below") == tmp_path
    assert dev.find_checkout(PROJECT_ROOT / "docs") == PROJECT_ROOT


def test_memolith_dev_outside_of_a_checkout_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dev, "__file__", str(tmp_path / "site-packages" / "dev.py"))
    done = CliRunner().invoke(main.app, ["dev", "up"])
    assert done.exit_code == 2
    assert "not a checkout" in done.output


def test_the_command_line_knows_its_subcommands_and_refuses_others() -> None:
    assert CliRunner().invoke(main.app, ["no-such-command"]).exit_code == 2
    assert "serve, dev" in CliRunner().invoke(main.app, ["--help"]).output
