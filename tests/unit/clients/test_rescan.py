"""``memolith index rescan``, over boto3 and moto: every version's scan is requested again, also after a stop."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from memolith.adapters.aws.queue import SqsQueue
from memolith.clients.cli import rescan
from memolith.clients.cli.failures import Exit
from memolith.ports.errors import Unavailable
from tests.contract.moto_world import DEPLOYMENT, FAR, HOME, make_bucket
from tests.unit.clients.test_index import Region, memolith, region

__all__ = ["region"]

LOG = f"{HOME}/log/memstore_useast1_x/{'9f2c' * 16}"
VERSIONS = [f"{LOG}/0001-0.{number:010d}" for number in range(1, 4)]
OTHERS = [
    f"{FAR}/log/memstore_useast1_x/{'9f2c' * 16}/0002-0.0000000004",
    f"{HOME}/log/nonsense",
    f"{HOME}/store/memstore_useast1_x/0001-0.0000000001",
]


@pytest.fixture(autouse=True)
def bucket(region: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of this region and of another one, and what is no version."""
    make_bucket(region.clients, HOME)
    for key in (*VERSIONS, *OTHERS):
        region.clients.s3(HOME).put_object(Bucket=DEPLOYMENT.bucket(HOME), Key=key, Body=b"x")
    monkeypatch.setattr(rescan, "PAGE", 2)


def requested(region: Region) -> list[str]:
    return [json.loads(body)["inspect"] for body in region.waiting("scan")]


def test_the_scan_of_each_of_a_regions_own_versions_is_requested_as_the_indexer_does(
    region: Region, capsys: pytest.CaptureFixture[str]
) -> None:
    assert memolith("index", "rescan", "--region", HOME, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"region": HOME, "requested": 3}
    assert requested(region) == VERSIONS


@pytest.mark.parametrize(
    ("failure", "code"), [(KeyboardInterrupt(), 130), (Unavailable("the queue is closed"), Exit.IN_PART)]
)
def test_a_rescan_that_stops_says_how_it_goes_on_and_leaves_nothing_out(
    region: Region,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    code: int,
) -> None:
    send = SqsQueue.send

    def fail_later(queue: SqsQueue, messages: Sequence[str]) -> None:
        if VERSIONS[2] in messages[0]:
            raise failure
        send(queue, messages)

    monkeypatch.setattr(SqsQueue, "send", fail_later)
    assert memolith("index", "rescan", "--region", HOME, "--aws") == code
    after = VERSIONS[1]
    out, err = capsys.readouterr()
    assert f"memolith index rescan --region {HOME} --after {after} --aws`" in out
    assert "Nothing was changed" not in err
    monkeypatch.setattr(SqsQueue, "send", send)
    assert memolith("index", "rescan", "--region", HOME, "--after", after, "--json") == 0
    assert json.loads(capsys.readouterr().out)["requested"] == 1
    assert requested(region) == VERSIONS


def test_a_place_to_go_on_that_is_none_of_the_regions_versions_is_refused(
    region: Region, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for other in (OTHERS[0], OTHERS[2], "5"):
        assert memolith("index", "rescan", "--region", HOME, "--after", other) == 2
        assert "--after" in capsys.readouterr().err
    assert requested(region) == []
