"""``memolith regions add``: every step in its order, each repeatable, and the record left as it should be."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from threading import Thread, current_thread
from types import SimpleNamespace
from typing import Any

import pytest

from memolith.adapters.memory import MemoryBuckets, MemoryObjects
from memolith.adapters.system.parallel import ThreadParallel
from memolith.clients.cli import main, region_addition, regions
from memolith.clients.cli.consoles import console
from memolith.clients.cli.failures import DoneInPart, Exit
from memolith.core.errors import InvalidRequest, Unavailable

OLD, NEW = "us-east-1", "eu-west-1"


class Checkout:
    """A folder with a record and a CDK command line that writes down what it was asked, and fails as it is told to."""

    def __init__(self, folder: Path) -> None:
        self.record = folder / "cdk.json"
        self.record.write_text(json.dumps({"context": {"memolith": {"stage": "dev", "regions": [OLD]}, "other": 1}}))
        self.asked = folder / "asked"
        self.fails = folder / "fails"
        self.fails.write_text("")
        cdk = folder / "node_modules" / ".bin" / "cdk"
        cdk.parent.mkdir(parents=True)
        cdk.write_text(
            f"#!{sys.executable}\n"
            "import json, sys, pathlib\n"
            f"asked, fails = pathlib.Path({str(self.asked)!r}), pathlib.Path({str(self.fails)!r})\n"
            "memolith = json.loads(pathlib.Path('cdk.json').read_text())['context']['memolith']\n"
            "declared = [f'of generation {one}' for one in memolith.get('index_generation', {}).values()]\n"
            "with asked.open('a') as log: log.write(' '.join([*sys.argv[1:], *declared]) + '\\n')\n"
            "sys.exit(sys.argv[1] == fails.read_text())\n"
        )
        cdk.chmod(cdk.stat().st_mode | stat.S_IXUSR)

    @property
    def memolith(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.record.read_text())["context"]["memolith"]
        return record

    def commands(self) -> list[str]:
        return self.asked.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.chdir(tmp_path)
    return Checkout(tmp_path)


@pytest.fixture
def steps(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done besides CDK's commands, in order: on AWS each has its own tests."""
    done: list[str] = []
    target = SimpleNamespace(account="111122223333", stage="dev")
    monkeypatch.setattr(regions, "find_target", lambda aws: target)
    monkeypatch.setattr(region_addition, "declare_incomplete", lambda target, region: False)
    monkeypatch.setattr(region_addition, "has_bucket", lambda target, region, has_tables: False)

    def did(step: str, answer: int) -> int:
        done.append(step)
        return answer

    def copy(target: Any, region: str, said_on: Any) -> int:
        return did(f"copy {region} after {checkout.commands()[-1]}", 5)

    monkeypatch.setattr(regions, "copy", copy)
    rebuilt = "memolith.clients.cli.index.rebuilt"
    monkeypatch.setattr(rebuilt, lambda target, region, settle_s, progress_on: did(f"rebuild {region}", 2))
    return done


BOOTSTRAP = f"bootstrap aws://111122223333/{NEW}"
BASE = f"deploy memolith-dev-base-{NEW} --import-existing-resources"
ALL = "deploy --all --import-existing-resources"


def test_an_added_region_has_a_bucket_with_all_that_is_in_the_others_before_it_has_rules_and_an_index(
    checkout: Checkout, steps: list[str]
) -> None:
    regions.add(NEW, yes=False, aws=True)
    assert checkout.commands() == ["synth --quiet", BOOTSTRAP, BASE, ALL, f"{BASE} of generation 2"]
    assert steps == [f"copy {NEW} after {BASE}", f"copy {NEW} after {ALL}", f"rebuild {NEW}"]
    assert checkout.memolith == {"stage": "dev", "regions": [OLD, NEW], "index_generation": {NEW: 2}}


def test_a_bucket_that_a_removed_region_left_is_filled_before_anything_is_deployed(
    checkout: Checkout, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(region_addition, "has_bucket", lambda target, region, has_tables: True)
    regions.add(NEW, yes=False, aws=True)
    assert steps == [f"copy {NEW} after {BOOTSTRAP}", f"copy {NEW} after {ALL}", f"rebuild {NEW}"]
    assert checkout.commands() == ["synth --quiet", BOOTSTRAP, ALL, f"{BASE} of generation 2"]


def test_a_former_region_that_is_added_is_none_any_more(checkout: Checkout, steps: list[str]) -> None:
    record = {"stage": "dev", "regions": [OLD], "former_regions": [NEW, "ap-south-1"]}
    checkout.record.write_text(json.dumps({"context": {"memolith": record}}))
    regions.add(NEW, yes=False, aws=True)
    assert (checkout.memolith["regions"], checkout.memolith["former_regions"]) == ([OLD, NEW], ["ap-south-1"])


def test_as_json_the_answer_is_one_value_and_what_cdk_says_goes_beside_it(
    checkout: Checkout, steps: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    regions.add(NEW, yes=True, aws=True, as_json=True)
    out, err = capfd.readouterr()
    assert json.loads(out) == {"region": NEW, "objects_copied": 10, "generation": 2}
    assert "cdk deploy" in err


def test_yes_answers_cdks_question_before_it_is_asked(checkout: Checkout, steps: list[str]) -> None:
    regions.add(NEW, yes=True, aws=True)
    deployments = [command for command in checkout.commands() if command.startswith("deploy")]
    assert len(deployments) == 3 and all("--require-approval never" in command for command in deployments)


def test_a_region_that_the_app_refuses_is_not_left_in_the_record(checkout: Checkout, steps: list[str]) -> None:
    before = checkout.record.read_text()
    checkout.fails.write_text("synth")
    with pytest.raises(InvalidRequest, match="as it was"):
        regions.add("mars-1", yes=True, aws=True)
    assert checkout.record.read_text() == before
    assert steps == []


def test_the_record_is_replaced_as_a_whole_and_never_half_written(checkout: Checkout, steps: list[str]) -> None:
    """A kill between emptying a file and filling it would leave a deployment without a record."""
    checkout.record.chmod(0o640)
    (checkout.record.parent / "as it was").hardlink_to(checkout.record)
    before = checkout.record.read_text()
    regions.add(NEW, yes=True, aws=True)
    assert (checkout.record.parent / "as it was").read_text() == before
    assert stat.S_IMODE(checkout.record.stat().st_mode) == 0o640
    assert {path.name for path in checkout.record.parent.iterdir() if path.is_file()} == {
        "as it was", "asked", "cdk.json", "fails",
    }  # fmt: skip


def test_a_region_that_the_app_refuses_takes_no_other_out_of_the_record_that_is_added_at_the_same_time(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Thread(target=lambda: regions.name_in_record(NEW, console))

    def run_cdk(*_: object) -> None:
        if current_thread() is not beside:
            beside.start()
            beside.join(timeout=0.5)  # unless the record is locked, it has named its region by then
            raise Unavailable("the app refuses it")

    monkeypatch.setattr(regions, "run_cdk", run_cdk)
    with pytest.raises(InvalidRequest, match="as it was"):
        regions.name_in_record("mars-1", console)
    beside.join(timeout=10)
    assert checkout.memolith["regions"] == [OLD, NEW]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["bootstrap", "deploy"])
def test_what_stops_is_mended_and_run_again(checkout: Checkout, steps: list[str], command: str) -> None:
    checkout.fails.write_text(command)
    with pytest.raises(DoneInPart, match="run the same command again"):
        regions.add(NEW, yes=True, aws=True)
    assert steps == []
    checkout.fails.write_text("")
    regions.add(NEW, yes=True, aws=True)
    assert checkout.memolith["regions"] == [OLD, NEW]
    assert [step.partition(" ")[0] for step in steps] == ["copy", "copy", "rebuild"]


@pytest.mark.parametrize("stops", ["find_target", "copy"])
def test_an_addition_that_stops_half_way_is_not_told_as_if_nothing_was_changed(
    checkout: Checkout,
    steps: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stops: str,
) -> None:
    def unanswered(*_: object, **__: object) -> None:
        raise Unavailable("AWS does not answer")

    monkeypatch.setattr(regions, stops, unanswered)
    with pytest.raises(SystemExit) as ended:
        main.run(["regions", "add", NEW, "--yes", "--aws"])
    assert (ended.value.code, checkout.memolith["regions"]) == (Exit.IN_PART, [OLD, NEW])
    assert "Nothing was changed" not in capsys.readouterr().err


def test_where_the_deployment_of_the_new_tables_fails_the_record_has_them_already(
    checkout: Checkout, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any later deployment would make tables that are there, and fail."""

    def rebuilt(*_: object, **__: object) -> int:
        checkout.fails.write_text("deploy")
        return 2

    monkeypatch.setattr("memolith.clients.cli.index.rebuilt", rebuilt)
    with pytest.raises(DoneInPart, match="cdk deploy failed"):
        regions.add(NEW, yes=True, aws=True)
    assert checkout.memolith["index_generation"] == {NEW: 2}


def test_the_rest_of_cdk_json_stays(checkout: Checkout, steps: list[str]) -> None:
    regions.add(NEW, yes=True, aws=True)
    assert json.loads(checkout.record.read_text())["context"]["other"] == 1


def test_beside_a_local_cloud_it_asks_which_one_is_meant(checkout: Checkout, steps: list[str]) -> None:
    Path(".memolith").mkdir()
    Path(".memolith/dev.json").write_text("{}")
    with pytest.raises(InvalidRequest, match="say --aws"):
        regions.add(NEW, yes=True, aws=False)
    assert checkout.memolith["regions"] == [OLD]


def test_outside_a_checkout_it_says_where_to_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match="in Memolith's checkout"):
        regions.add(NEW, yes=True, aws=True)


def test_filling_copies_what_the_other_regions_have(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    buckets = MemoryBuckets([OLD, NEW])
    for number in range(5):
        MemoryObjects(buckets, OLD).put_if_absent(f"{OLD}/log/memstore_1/9f2c/0001-0.{number:010d}", b"x", {})
    site = SimpleNamespace(objects=MemoryObjects(buckets, NEW), parallel=ThreadParallel())
    target = SimpleNamespace(regions=(OLD, NEW), site=lambda region: site)
    monkeypatch.setattr(region_addition, "is_replicated", lambda target, region: False)
    monkeypatch.setattr(regions, "find_target", lambda aws: target)
    regions.fill(NEW)
    assert site.objects.list("").keys == MemoryObjects(buckets, OLD).list("").keys
    assert f"{NEW}: 5 objects copied" in capsys.readouterr().out
    regions.fill(NEW, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"region": NEW, "objects_copied": 0}


@pytest.mark.parametrize(("silent", "code"), [("list", Exit.NO_ANSWER), ("put_if_absent", Exit.IN_PART)])
def test_a_filling_that_stops_says_nothing_was_changed_only_where_that_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], silent: str, code: Exit
) -> None:
    buckets = MemoryBuckets([OLD, NEW])
    MemoryObjects(buckets, OLD).put_if_absent(f"{OLD}/log/memstore_1/9f2c/0001-0.0000000001", b"x", {})
    objects = MemoryObjects(buckets, NEW)

    def unanswered(*_: Any, **__: Any) -> Any:
        raise Unavailable("the bucket does not answer")

    monkeypatch.setattr(objects, silent, unanswered)
    site = SimpleNamespace(objects=objects, parallel=ThreadParallel())
    target = SimpleNamespace(regions=(OLD, NEW), site=lambda region: site)
    monkeypatch.setattr(region_addition, "is_replicated", lambda target, region: False)
    monkeypatch.setattr(regions, "find_target", lambda aws: target)
    with pytest.raises(SystemExit) as ended:
        main.run(["regions", "fill", NEW])
    assert ended.value.code == code
    assert ("Nothing was changed" in capsys.readouterr().err) == (silent == "list")
