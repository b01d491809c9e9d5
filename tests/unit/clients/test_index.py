"""``memolith index status`` and ``redrive``, over boto3 and moto: what an operator is shown, and what is then done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.aws import dead_letters
from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.names import QUEUES
from memolith.app.indexer.rebuild_pages import Progress as Step
from memolith.app.operations import operator
from memolith.clients.cli import index, main
from memolith.clients.cli.consoles import console
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.index import _speed_and_rest
from memolith.core.errors import Unavailable
from memolith.core.rows.control import ControlRow
from tests.contract.moto_world import DEPLOYMENT, FAR, HOME, locked_moto, make_tables

KEY = "us-east-1/log/memstore_useast1_x/9f2c/0001-0.0000000042"
EVENT = json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": KEY}}}]})
UNREADABLE = json.dumps({"key": "us-east-1/log/nonsense", "reason": "not a key of ours"})
STRANGE = json.dumps({"message": "the whole secret text", "reason": "neither an S3 event nor a batch of a rebuild"})


class Region:
    """A region whose tables serve, and its queues."""

    def __init__(self, clients: Clients) -> None:
        self.sqs = clients.sqs(HOME)
        self.urls = {
            name: self.sqs.create_queue(QueueName=name)["QueueUrl"]
            for queue in QUEUES
            for name in (DEPLOYMENT.queue(queue), DEPLOYMENT.dead_letter_queue(queue))
        }
        make_tables(clients)
        self.clients = clients
        self.serve(complete=True)

    def serve(self, *, complete: bool) -> None:
        key: Any = {"pk": {"S": ControlRow.KEY.pk}, "sk": {"S": ControlRow.KEY.sk}}
        row: Any = {"serving": {"N": "1"}, "complete": {"BOOL": complete}}
        self.clients.dynamodb(HOME).put_item(TableName=DEPLOYMENT.table("control"), Item={**key, **row})

    def set_aside(self, queue: str, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.urls[DEPLOYMENT.dead_letter_queue(queue)], MessageBody=body)

    def waiting(self, queue: str) -> list[str]:
        url = self.urls[DEPLOYMENT.queue(queue)]
        found = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        return sorted(message["Body"] for message in found)


@pytest.fixture
def region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Region]:
    monkeypatch.chdir(tmp_path)
    record = {"stage": DEPLOYMENT.stage, "regions": [HOME], "account": DEPLOYMENT.account}
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"memolith": record}}))
    monkeypatch.setattr(console, "width", 200)
    monkeypatch.setattr(dead_letters, "WAIT_S", 0)  # one server knows all that is there
    with locked_moto() as clients:
        yield Region(clients)


def memolith(*words: str) -> int:
    """The exit code of a command."""
    try:
        main.run(words)
    except SystemExit as ended:
        return int(ended.code or 0)
    raise AssertionError("a command line always exits")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    code = memolith(*words, "--json")
    return code, json.loads(capsys.readouterr().out)


def test_a_rebuild_says_how_fast_it_is_and_how_long_the_rest_will_take_once_it_knows() -> None:
    assert _speed_and_rest(Step("making tables")) == ""
    assert _speed_and_rest(Step("folding", folded=1, found=2)) == "still counting"
    assert _speed_and_rest(Step("folding", folded=1, found=9, per_s=1250.0)) == "1,250/s, still counting"
    whole = Step("folding", folded=10_000, found=1_000_000, counted=True, per_s=1_100.0)
    assert _speed_and_rest(whole) == "1,100/s, 15 min left"


def test_a_rebuild_as_json_says_which_generation_serves_and_its_progress_goes_beside_it(
    region: Region, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Done:
        def __init__(self, *_: object) -> None: ...

        def run(self, report: Callable[[Step], None]) -> int:
            report(Step("folding", folded=3, found=3))
            return 2

    monkeypatch.setattr(index, "Rebuild", Done)
    code = memolith("index", "rebuild", "--region", HOME, "--json")
    out, err = capsys.readouterr()
    assert (code, json.loads(out)) == (0, {"region": HOME, "generation": 2})
    assert "folding" in err
    assert memolith("index", "rebuild", "--region", HOME) == 0
    out, _ = capsys.readouterr()
    assert f'Set "index_generation": {{"{HOME}": 2}} in cdk.json' in out
    assert out.endswith("npx cdk deploy --all --import-existing-resources\n"), "the next deployment imports the tables"


@pytest.mark.parametrize(("begun", "code"), [(False, Exit.NO_ANSWER), (True, Exit.IN_PART)])
def test_a_rebuild_that_stops_says_nothing_was_changed_only_where_it_has_not_begun(
    region: Region, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, begun: bool, code: Exit
) -> None:
    class Stopping:
        def __init__(self, *_: object) -> None: ...

        def run(self, report: Callable[[Step], None]) -> int:
            if begun:
                report(Step("making tables"))
            raise Unavailable("the tables do not answer")

    monkeypatch.setattr(index, "Rebuild", Stopping)
    assert memolith("index", "rebuild", "--region", HOME) == code
    assert ("Nothing was changed" in capsys.readouterr().err) == (not begun)


def test_a_region_that_is_well_says_so(region: Region, capsys: pytest.CaptureFixture[str]) -> None:
    code, (row,) = answer(capsys, "index", "status")
    assert code == 0
    assert (row["region"], row["serving"], row["complete"], row["building"]) == (HOME, 1, True, None)
    assert row["queues"] == {queue: {"waiting": 0, "in_flight": 0, "set_aside": 0} for queue in QUEUES}
    assert memolith("index", "status") == 0
    assert HOME in capsys.readouterr().out


def test_a_region_that_is_not_complete_or_has_dead_letters_fails_the_command(
    region: Region, capsys: pytest.CaptureFixture[str]
) -> None:
    region.set_aside("index", EVENT)
    code, (row,) = answer(capsys, "index", "status")
    assert (code, row["queues"]["index"]["set_aside"]) == (2, 1)
    assert memolith("index", "status") == 2
    assert "1 index" in capsys.readouterr().out


def test_a_region_that_is_being_rebuilt_is_not_well(region: Region, capsys: pytest.CaptureFixture[str]) -> None:
    region.serve(complete=False)
    code, (row,) = answer(capsys, "index", "status")
    assert (code, row["complete"]) == (2, False)


def test_a_region_that_does_not_answer_is_a_line_of_the_answer(
    region: Region, capsys: pytest.CaptureFixture[str]
) -> None:
    region.sqs.delete_queue(QueueUrl=region.urls[DEPLOYMENT.queue("index")])
    code, (row,) = answer(capsys, "index", "status")
    assert code == 2
    assert row["region"] == HOME and "queue" in row["problem"]


def test_a_dry_run_shows_keys_and_reasons_never_content_and_moves_nothing(
    region: Region, capsys: pytest.CaptureFixture[str]
) -> None:
    region.set_aside("index", EVENT, UNREADABLE, STRANGE)
    assert memolith("index", "redrive", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert KEY in shown and "us-east-1/log/nonsense" in shown and "not a key of ours" in shown
    assert "secret" not in shown
    code, rows = answer(capsys, "index", "redrive", "--dry-run", "--queue", "index")
    assert code == 0
    assert [(row["queue"], row["set_aside"], row["sent_back"]) for row in rows] == [("index", 3, 0)]
    assert region.waiting("index") == []


def test_what_was_set_aside_goes_back_to_its_own_queue(region: Region, capsys: pytest.CaptureFixture[str]) -> None:
    batch = json.dumps({"rebuild": {"generation": 2, "run": "run_1", "batch": 7, "keys": [KEY]}})
    region.set_aside("index", EVENT, UNREADABLE)
    region.set_aside("rebuild", batch)
    code, rows = answer(capsys, "index", "redrive", "--region", HOME)
    assert code == 0
    assert {row["queue"]: row["sent_back"] for row in rows if row["set_aside"]} == {"index": 2, "rebuild": 1}
    assert [row["letters"][0]["subject"] for row in rows if row["queue"] == "rebuild"] == ["batch 7 of run_1"]
    assert region.waiting("index") == sorted([EVENT, UNREADABLE])
    assert region.waiting("rebuild") == [batch]
    code, rows = answer(capsys, "index", "redrive")
    assert {row["set_aside"] for row in rows} == {0}


@pytest.mark.parametrize("gone", [HOME, FAR])
def test_the_dead_letters_of_the_other_regions_are_shown_and_sent_back_though_one_does_not_answer(
    region: Region,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    gone: str,
) -> None:
    record = {"stage": DEPLOYMENT.stage, "regions": [gone, *{HOME, FAR} - {gone}], "account": DEPLOYMENT.account}
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"memolith": record}}))
    dead_letters_of = Target.dead_letters

    def dead_letters(target: Target, name: str, queue: str) -> Any:
        """Those of `HOME`, whichever region answers."""
        if name == gone:
            raise Unavailable(f"SQS in {name} does not answer")
        return dead_letters_of(target, HOME, queue)

    monkeypatch.setattr(Target, "dead_letters", dead_letters)
    region.set_aside("index", EVENT)
    code, rows = answer(capsys, "index", "redrive", "--queue", "index", "--dry-run")
    assert code == 2
    found = {row["region"]: row for row in rows}
    assert found[gone] == {"region": gone, "queue": "index", "problem": f"SQS in {gone} does not answer"}
    (other,) = found.keys() - {gone}
    assert (found[other]["set_aside"], found[other]["sent_back"]) == (1, 0)
    assert memolith("index", "redrive", "--queue", "index") == 2
    out, err = capsys.readouterr()
    assert f"{other} index: 1 sent back" in out and region.waiting("index") == [EVENT]
    assert f"{gone} index: SQS in {gone} does not answer" in out and "Nothing was changed" not in err


def test_dead_letters_that_were_shown_and_then_could_not_be_sent_back_are_not_lost_from_the_answer(
    region: Region, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(*_: object) -> Any:
        yield 1
        raise Unavailable("the queue does not answer any more")

    monkeypatch.setattr(operator, "send_back", unanswered)
    region.set_aside("index", EVENT, UNREADABLE)
    code, (row,) = answer(capsys, "index", "redrive", "--queue", "index")
    assert (code, row["set_aside"], len(row["letters"]), row["sent_back"]) == (2, 2, 2, 1)
    assert row["problem"] == "the queue does not answer any more"


def test_the_dead_letters_of_a_region_that_is_being_removed_are_still_sent_back(
    region: Region, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its stacks are deleted last, and not while one of its queues holds a message."""
    record = {"stage": DEPLOYMENT.stage, "regions": [FAR], "former_regions": [HOME], "account": DEPLOYMENT.account}
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"memolith": record}}))
    request = json.dumps({"inspect": KEY})
    region.set_aside("scan", request)
    code, (row,) = answer(capsys, "index", "redrive", "--region", HOME, "--queue", "scan")
    assert (code, row["sent_back"], region.waiting("scan")) == (0, 1, [request])
    code, (row,) = answer(capsys, "index", "status", "--region", HOME)
    assert (row["region"], row["queues"]["scan"]["set_aside"]) == (HOME, 0)


@pytest.mark.parametrize(
    ("words", "named"),
    [(["--queue", "nonsense"], "--queue"), (["--region", "eu-north-1"], "--region")],
)
def test_a_queue_or_region_that_is_not_there_is_named(
    region: Region, capsys: pytest.CaptureFixture[str], words: list[str], named: str
) -> None:
    assert memolith("index", "redrive", *words) == 2
    assert named in capsys.readouterr().err
