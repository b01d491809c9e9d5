"""A deployment for an emulator that lacks HTTP APIs, layers and custom resources."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from infra import bundling
from infra.bundling import Bundle
from infra.deployment import parse
from infra.record_checks import InvalidDeployment
from scripts.local_cloud.custom_resources import ACTS
from tests.infra.conftest import Synthesize
from tests.infra.synthesized import FAR, HERE, THERE, App, record
from tests.infra.test_alarms import alarm, metrics


@pytest.mark.slow
def test_reader_writer_mcp_and_keys_have_urls_where_there_is_no_http_api(synthesized: Synthesize) -> None:
    base = synthesized(record(HERE, rollout="unversioned", front_door="function_urls", layers=False)).base(HERE)
    assert base.resources("AWS::ApiGatewayV2::Api") == {}
    assert len(base.resources("AWS::Lambda::Url")) == 4
    assert {"ReaderUrl", "WriterUrl", "McpUrl", "KeysUrl"} <= set(base.body["Outputs"])


@pytest.mark.slow
def test_failing_requests_ring_also_where_there_is_no_http_api_and_the_least_monitoring(
    synthesized: Synthesize,
) -> None:
    fields = {"rollout": "unversioned", "front_door": "function_urls", "layers": False, "monitoring": "least"}
    failing = alarm(synthesized(record(HERE, **fields)), "api-failures")
    watched = {(one["MetricName"], one["Dimensions"][0]["Value"]) for one in metrics(failing)}
    functions = [f"memolith-test-{name}" for name in ("reader", "writer", "mcp", "keys")]
    assert watched == {(name, one) for name in ("UrlRequestCount", "Url5xxCount") for one in functions}
    assert {(one["Namespace"], one["Stat"]) for one in metrics(failing)} == {("AWS/Lambda", "Sum")}
    assert (failing["Threshold"], failing["EvaluationPeriods"]) == (1.0, 2)


@pytest.mark.slow
def test_without_layers_no_function_has_one(synthesized: Synthesize) -> None:
    base = synthesized(record(HERE, rollout="unversioned", front_door="function_urls", layers=False)).base(HERE)
    assert base.resources("AWS::Lambda::LayerVersion") == {}
    assert not any(made.get("Layers") for made in base.properties("AWS::Lambda::Function"))


def test_on_aws_there_are_no_function_urls() -> None:
    with pytest.raises(InvalidDeployment, match="front_door"):
        parse(record(HERE, front_door="function_urls"))


def test_every_custom_resource_can_be_done_by_the_local_cloud(three_regions: App) -> None:
    kinds = {
        made["Type"]
        for region in (HERE, THERE, FAR)
        for template in (three_regions.base(region), three_regions.mesh(region))
        for made in template.body["Resources"].values()
        if made["Type"].startswith("Custom::")
    }
    assert kinds == set(ACTS)


def test_a_bundle_can_carry_what_is_otherwise_in_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "KEPT", tmp_path)

    def installed(_self: Bundle, target: Path) -> None:
        (target / "boto3").mkdir(parents=True)
        (target / "boto3" / "__init__.py").write_text("")

    monkeypatch.setattr(Bundle, "_install", installed)
    bare = Bundle("custom-resources", "custom-resources")
    full = replace(bare, inside=("dependencies",))
    assert bare.fingerprint() != full.fingerprint()
    assert full.command()[-2:] == ["--inside", "dependencies"]
    with zipfile.ZipFile(full.build()) as archive:
        assert {"boto3/__init__.py", "infra/custom_resources/signing_keys.py"} <= set(archive.namelist())
    with zipfile.ZipFile(bare.build()) as archive:
        assert "boto3/__init__.py" not in archive.namelist()
