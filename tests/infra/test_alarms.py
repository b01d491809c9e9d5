"""What rings: each alarm watches what is really counted, publishes where somebody hears it, and names its runbook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import grimp
import pytest

from infra.constructs import measures
from infra.constructs.once import AGAIN
from infra.constructs.rollout import GUARDED
from infra.deployment import FUNCTIONS, OPTIONAL_FUNCTIONS
from memolith.core.tables import TABLES
from memolith.entry.telemetry import COMMON_DIMENSIONS, NAMESPACE
from scripts import check_docs
from tests.infra.conftest import ON_CALL
from tests.infra.synthesized import ACCOUNT, FAR, HERE, ROOT, THERE, App
from tests.support.counted import counted

Alarm = dict[str, Any]
RUNBOOK = re.compile(r"Runbook: (docs/operations/[a-z-]+\.md)$")
GUARDS = {f"memolith-test-{name}-failures" for name in GUARDED}
HEADINGS = ("What it means", "What users see", "How to look", "What to do", "How to know it is over")


def alarms(app: App, region: str = HERE) -> list[Alarm]:
    return app.base(region).properties("AWS::CloudWatch::Alarm")


def alarm(app: App, name: str, region: str = HERE) -> Alarm:
    return app.base(region).named("AWS::CloudWatch::Alarm", "AlarmName", f"memolith-test-{name}")


def metrics(alarm: Alarm) -> Iterator[dict[str, Any]]:
    """Every metric that an alarm watches, by itself or within an expression."""
    if "MetricName" in alarm:
        yield {**alarm, "Stat": alarm.get("Statistic") or alarm.get("ExtendedStatistic")}
    for one in alarm.get("Metrics", []):
        if "MetricStat" in one:
            yield {**one["MetricStat"]["Metric"], "Stat": one["MetricStat"]["Stat"]}


def dimensions(metric: dict[str, Any]) -> dict[str, str]:
    return {one["Name"]: one["Value"] for one in metric.get("Dimensions", [])}


def threshold_s(alarm: Alarm) -> float:
    """In seconds; the metrics that end in ``_ms`` have theirs in milliseconds."""
    return float(alarm["Threshold"]) / (1000 if alarm.get("MetricName", "").endswith("_ms") else 1)


# ---- every alarm ----------------------------------------------------------------------------------------------------


def test_every_alarm_publishes_when_it_rings_and_when_it_is_over(three_regions: App) -> None:
    """But for those that guard new versions: one failed tick takes a version back, and should wake no person."""
    for one in alarms(three_regions):
        for actions in (one.get("AlarmActions"), one.get("OKActions")):
            assert actions == (None if one["AlarmName"] in GUARDS else ["memolith-test-alarms"]), one["AlarmName"]


def test_every_alarm_says_what_it_means_and_names_a_runbook_that_is_there(three_regions: App) -> None:
    for one in alarms(three_regions):
        named = RUNBOOK.search(one["AlarmDescription"])
        assert named is not None, one["AlarmName"]
        text = (ROOT / named[1]).read_text()
        assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(HEADINGS), named[1]


@pytest.mark.slow
def test_every_runbook_is_in_the_list_and_names_commands_and_files_that_are_there() -> None:
    index = (ROOT / "docs/operations/README.md").read_text()
    runbooks = sorted(path.name for path in (ROOT / "docs/operations").glob("*.md") if path.name != "README.md")
    assert [name for name in runbooks if f"({name})" not in index] == []
    for check in (check_docs.unknown_commands, check_docs.broken_links, check_docs.missing_files):
        assert [str(one) for one in check() if one.path.startswith("docs/operations/")] == []


def test_every_alarm_is_in_the_list_and_those_of_a_queue_are_on_the_page_that_they_name(three_regions: App) -> None:
    rows = [line.split("|")[1] for line in (ROOT / "docs/operations/README.md").read_text().splitlines() if "|" in line]
    listed = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    names = [name.replace("REGION", r"[a-z]+-[a-z]+-\d").replace("FUNCTION", "[a-z]+") for name in listed]
    for one in alarms(three_regions):
        name = one["AlarmName"].removeprefix("memolith-test-")
        assert re.fullmatch(rf"({'|'.join(names)})(-\d)?", name), name
        if name.endswith(("-age", "-dlq")):
            [page] = RUNBOOK.findall(one["AlarmDescription"])
            its_alarms = (ROOT / page).read_text().splitlines()[2].split(". ")[0]
            assert f"`{name}`" in its_alarms, name


def test_every_resource_that_a_page_names_is_deployed_and_schedules_are_looked_for_where_they_are(
    three_regions: App,
) -> None:
    """The secret of a models' service is its owner's, and no part of a deployment that asks Bedrock."""
    made = f"{three_regions.base(HERE).body}{three_regions.mesh(HERE).body} memolith-test-models"
    words = {"STAGE": "test", "ACCOUNT": ACCOUNT, "REGION": HERE, "SOURCE": HERE, "FUNCTION": "reader"}
    for page in sorted((ROOT / "docs/operations").glob("*.md")):
        text = page.read_text()
        for name in re.findall(r"memolith-STAGE-[\w-]*\w", text):
            deployed = re.sub("|".join(words), lambda word: words[word[0]], name)
            assert deployed in made, name
        assert ("aws scheduler " in text) <= ("AWS::Scheduler::" in made), page.name


def test_every_aws_command_of_a_runbook_names_its_region() -> None:
    """The names of IAM, S3 and Route 53 are the account's or the world's."""
    for page in sorted((ROOT / "docs/operations").glob("*.md")):
        text = page.read_text().replace("\\\n", " ")
        for command in re.findall(r"aws (?!iam |route53 |s3 |s3api |sts )[a-z]+ [a-z]+-[^`\n]*", text):
            assert "--region" in command, f"{page.name}: {command}"


def test_every_deployment_of_a_runbook_does_something_where_the_templates_are_what_they_were() -> None:
    """The command line passes over a stack without changes, and CloudFormation over a custom resource."""
    for page in sorted((ROOT / "docs/operations").glob("*.md")):
        text = page.read_text()
        deployments = re.findall(r"cdk deploy[^`\n]*", text)
        for command in deployments:
            assert "--revert-drift" in command or "--import-existing-resources" in command, f"{page.name}: {command}"
        needs_custom_resources = page.name in ("keys.md", "replication-failed.md", "replication-late.md")
        assert needs_custom_resources == any(f"-c {AGAIN}=" in command for command in deployments), page.name
        assert "deploy the base stack" not in text, page.name
    assert "`--revert-drift`" in (ROOT / "node_modules/aws-cdk/README.md").read_text()


def test_a_runbooks_commands_for_keys_are_for_the_deployment_also_where_this_machine_has_served() -> None:
    for page in (*sorted((ROOT / "docs/operations").glob("*.md")), ROOT / "docs/deploying.md"):
        for command in re.findall(r"memolith keys (?:create|list|revoke) [^`\n]*", page.read_text()):
            assert "--aws" in command, f"{page.name}: {command}"


def test_the_runbook_of_a_leaked_key_looks_at_every_function_that_answers_requests_with_keys() -> None:
    page = (ROOT / "docs/operations/keys.md").read_text()
    for name in ("reader", "writer", "keys"):
        assert f"/aws/lambda/memolith-STAGE-{name}`" in page, name


@pytest.mark.slow
def test_every_metric_of_ours_that_an_alarm_watches_is_counted_with_just_these_dimensions(three_regions: App) -> None:
    measured = counted()
    for one in alarms(three_regions):
        for metric in metrics(one):
            if metric["Namespace"] != NAMESPACE:
                continue
            named = dimensions(metric)
            assert set(COMMON_DIMENSIONS) <= set(named), one["AlarmName"]
            assert frozenset(set(named) - set(COMMON_DIMENSIONS)) in measured[metric["MetricName"]], one["AlarmName"]
            assert (named["stage"], named["region"]) == ("test", HERE)


@pytest.mark.slow
def test_every_metric_of_ours_on_the_dashboard_is_counted_with_just_these_dimensions(three_regions: App) -> None:
    measured = counted()
    (board,) = three_regions.base(HERE).properties("AWS::CloudWatch::Dashboard")
    searches = re.findall(r"SEARCH\('\{([\w,]+)\} MetricName=\\+\"([\w.]+)\\+\"", str(board["DashboardBody"]))
    assert searches
    for schema, name in searches:
        namespace, *named = schema.split(",")
        assert namespace == NAMESPACE
        assert frozenset(set(named) - set(COMMON_DIMENSIONS)) in measured[name], name


@pytest.mark.slow
def test_the_dashboard_shows_how_old_the_watermarks_are_where_there_are_any(
    one_region: App, three_regions: App
) -> None:
    shown = [str(app.base(HERE).properties("AWS::CloudWatch::Dashboard")) for app in (one_region, three_regions)]
    has_reconciler = "memolith-test-reconciler" in str(one_region.base(HERE).body)
    assert [("watermark_age_ms" in board) for board in shown] == [has_reconciler, True]


@pytest.mark.slow
def test_the_apps_names_for_what_is_counted_are_the_functions_own(three_regions: App) -> None:
    assert measures.NAMESPACE == NAMESPACE
    functions = {one["FunctionName"] for one in three_regions.base(HERE).properties("AWS::Lambda::Function")}
    emitted = {name for name, service in measures.EMITTED_BY.items() if f"memolith-test-{service}" in functions}
    emitted -= {"erasure_age_ms"} if "erasure_age_ms" not in str(alarms(three_regions)) else set()
    assert {"replication_lag_ms", "writes"} <= emitted <= set(counted())
    assert set(measures.EMITTED_BY.values()) <= set(FUNCTIONS)


# ---- what rings -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("promised", "late_s"), [(True, 900), (False, 3600)])
def test_a_region_that_learns_late_of_what_another_wrote_rings_for_that_pair(
    three_regions: App, two_regions: App, promised: bool, late_s: int
) -> None:
    app = three_regions if promised else two_regions
    for home in app.deployment.regions:
        lag = alarm(app, f"lag-from-{home}")
        assert (lag["MetricName"], lag["ExtendedStatistic"]) == ("replication_lag_ms", "p99")
        assert dimensions(lag) == {"service": "indexer", "stage": "test", "region": HERE, "home": home}
        assert threshold_s(lag) == late_s
    for peer in app.deployment.peers(HERE):
        assert threshold_s(alarm(app, f"replication-from-{peer}-late")) == late_s


def test_replication_is_watched_where_s3_publishes_it(three_regions: App) -> None:
    """Latency in the destination's region, failures in the source's."""
    for region in (HERE, THERE, FAR):
        own = f"memolith-test-{ACCOUNT}-{region}"
        for peer in three_regions.deployment.peers(region):
            other = f"memolith-test-{ACCOUNT}-{peer}"
            late = alarm(three_regions, f"replication-from-{peer}-late", region)
            assert late["MetricName"] == "ReplicationLatency"
            assert dimensions(late) == {"SourceBucket": other, "DestinationBucket": own, "RuleId": f"to-{region}"}
            failed = alarm(three_regions, f"replication-to-{peer}-failed", region)
            assert (failed["MetricName"], failed["Threshold"]) == ("OperationsFailedReplication", 0)
            assert dimensions(failed) == {"SourceBucket": own, "DestinationBucket": other, "RuleId": f"to-{peer}"}


def test_the_replication_rules_are_those_whose_metrics_are_watched(three_regions: App) -> None:
    (rules,) = [
        one["Rules"] for one in three_regions.mesh(HERE).properties("Custom::MemolithReplication") if "Rules" in one
    ]
    watched = {dimensions(one)["RuleId"] for one in alarms(three_regions) if one["AlarmName"].endswith("-failed")}
    assert {rule["ID"] for rule in rules} == watched


def test_a_region_alone_watches_no_replication(one_region: App) -> None:
    assert [one["AlarmName"] for one in alarms(one_region) if "replication-" in one["AlarmName"]] == []


def test_events_without_folds_ring_also_where_checkpoints_go_on(one_region: App) -> None:
    stopped = alarm(one_region, "folding-stopped")
    ours = {"service": "indexer", "stage": "test", "region": HERE}
    watched = [(metric["MetricName"], dimensions(metric)) for metric in metrics(stopped)]
    assert sorted(watched, key=str) == [
        ("NumberOfMessagesSent", {"QueueName": "memolith-test-index"}),
        ("messages_failed", ours),
        ("objects_folded", {**ours, "source": "event"}),
        ("objects_folded", {**ours, "source": "other"}),
    ]
    (expression,) = [one["Expression"] for one in stopped["Metrics"] if "Expression" in one]

    def rings(sent: int = 0, folded: int = 0, other: int = 0, failed: int = 0) -> bool:
        words = re.sub(r"FILL\((\w+), 0\)", r"\1", expression).replace("AND", "and").replace("OR", "or")
        values = {"sent": sent, "folded": folded, "other": other, "failed": failed}
        return bool(eval(words, {"IF": lambda rule, yes, no: yes if rule else no}, values))  # noqa: S307  our template

    assert not rings(), "nothing is written, and no checkpoint is put"
    assert not rings(sent=10, other=10), "nothing is written"
    assert not rings(sent=12, folded=1, other=10, failed=1)
    assert rings(sent=10), "nothing wakes the indexer"
    assert rings(sent=12, other=10, failed=2), "every entry fails, while checkpoints come at every tick"
    assert rings(other=10, failed=2)


def test_every_table_of_the_generation_that_the_stack_declares_is_watched_for_throttles(two_regions: App) -> None:
    declared = {one["TableName"] for one in two_regions.base(THERE).properties("AWS::DynamoDB::Table")}
    assert len(declared) == len(TABLES)
    for verb in ("Read", "Write"):
        throttled = [
            metric
            for one in alarms(two_regions, THERE)
            if f"tables-{verb.lower()}-throttles" in one["AlarmName"]
            for metric in metrics(one)
        ]
        assert {metric["MetricName"] for metric in throttled} == {f"{verb}ThrottleEvents"}
        assert {dimensions(metric)["TableName"] for metric in throttled} == declared


def test_every_global_index_is_watched_for_throttles_which_its_tables_own_metric_leaves_out(two_regions: App) -> None:
    declared = {
        (one["TableName"], index["IndexName"])
        for one in two_regions.base(THERE).properties("AWS::DynamoDB::Table")
        for index in one.get("GlobalSecondaryIndexes", [])
    }
    assert declared
    for verb in ("Read", "Write"):
        throttled = {
            (dimensions(metric)["TableName"], dimensions(metric).get("GlobalSecondaryIndexName"))
            for one in alarms(two_regions, THERE)
            for metric in metrics(one)
            if metric["MetricName"] == f"{verb}ThrottleEvents"
        }
        assert declared <= throttled


COUNT_DAMAGE = {"memolith.app.kernel.damage_report", "memolith.app.erasure.repair"}
READ_NO_LOG = {
    "keys": "reads the records of keys alone",
    "mcp": "hands requests to the reader and the writer",
}
"""Functions whose code has what counts damaged objects, but that read none of a log."""


def test_the_alarm_of_damaged_objects_watches_every_function_whose_code_counts_them(
    one_region: App, three_regions: App
) -> None:
    code = grimp.build_graph("memolith")
    folder = ROOT / "functions"
    texts = {
        ".".join(path.relative_to(folder).with_suffix("").parts): path.read_text() for path in folder.rglob("*.py")
    }
    assert {name for name, text in texts.items() if '"objects_damaged"' in text} == COUNT_DAMAGE
    able = {
        name
        for name in (*FUNCTIONS, *OPTIONAL_FUNCTIONS)
        if COUNT_DAMAGE & code.find_upstream_modules(f"memolith.entry.compose_{name}")
    }
    for app, absent in ((three_regions, set()), (one_region, {"dreamer"})):
        watched = {dimensions(one)["service"] for one in metrics(alarm(app, "objects-damaged"))}
        assert watched == able - READ_NO_LOG.keys() - absent


def test_no_alarm_has_more_metrics_than_cloudwatch_takes(three_regions: App) -> None:
    assert max(len(list(metrics(one))) for one in alarms(three_regions)) <= 10


def test_an_alarm_that_has_nothing_to_measure_is_quiet_unless_it_watches_what_must_always_be(
    three_regions: App,
) -> None:
    """A region without traffic is not in trouble; what must run whatever the traffic is watched by its absence."""
    for one in alarms(three_regions):
        name = one["AlarmName"].removeprefix("memolith-test-")
        always = name in ("reconciler-silent", "erasures-pending") or name.startswith("incomplete-from-")
        assert one["TreatMissingData"] == ("breaching" if always else "notBreaching"), name


@pytest.mark.slow
def test_a_reconciler_that_does_not_run_or_raises_whenever_it_does_rings(three_regions: App, small: App) -> None:
    """AWS counts an invocation that raised among the others, and no tick that raises counts itself as failed."""
    for app in (three_regions, small):
        silent = alarm(app, "reconciler-silent")
        assert [metric["MetricName"] for metric in metrics(silent)] == ["Invocations", "Errors"]
        for metric in metrics(silent):
            assert (metric["Stat"], dimensions(metric)) == ("Sum", {"FunctionName": "memolith-test-reconciler"})
        (expression,) = [one["Expression"] for one in silent["Metrics"] if "Expression" in one]
        assert expression == "IF(runs > FILL(errors, 0), 0, 1)"
        assert (silent["Threshold"], silent["EvaluationPeriods"]) == (0, 3)


def test_a_table_that_was_emptied_rings_at_once_and_a_reconciler_that_keeps_failing_after_a_while(
    three_regions: App,
) -> None:
    emptied, failing = alarm(three_regions, "tables-emptied"), alarm(three_regions, "reconciler-failing")
    assert (emptied["MetricName"], emptied["Threshold"], emptied["EvaluationPeriods"]) == ("tables_emptied", 0, 1)
    assert (failing["MetricName"], failing["EvaluationPeriods"]) == ("reconcile_failed", 3)
    rings = {failed: failed > failing["Threshold"] for failed in range(6)}
    assert rings == {0: False, 1: False, 2: False, 3: False, 4: True, 5: True}, "of five runs a period"


def test_a_region_that_is_not_known_to_be_complete_rings_for_that_home(three_regions: App) -> None:
    for home in three_regions.deployment.peers(HERE):
        incomplete = alarm(three_regions, f"incomplete-from-{home}")
        assert incomplete["MetricName"] == "watermark_age_ms"
        assert dimensions(incomplete) == {"service": "reconciler", "stage": "test", "region": HERE, "home": home}
        assert threshold_s(incomplete) == 900


def test_where_erasures_are_swept_one_that_does_not_end_rings_and_so_does_a_missing_sweep(one_region: App) -> None:
    rules = [one.get("Name") for one in one_region.base(HERE).properties("AWS::Events::Rule")]
    assert rules.count("memolith-test-erasure-sweep") == 1
    pending = alarm(one_region, "erasures-pending")
    assert (pending["MetricName"], pending["Statistic"], threshold_s(pending)) == ("erasure_age_ms", "Maximum", 3600)
    assert dimensions(pending) == {"service": "eraser", "stage": "test", "region": HERE}
    assert pending["Period"] * pending["EvaluationPeriods"] == 900
    assert pending["TreatMissingData"] == "breaching"


@pytest.mark.slow
def test_a_guardrail_that_does_not_answer_rings_where_one_is_set_up(equipped: App) -> None:
    unavailable = alarm(equipped, "guardrail-unavailable")
    assert dimensions(unavailable) == {"service": "scanner", "stage": "test", "region": HERE}
    assert RUNBOOK.search(unavailable["AlarmDescription"]) and (ROOT / "docs/operations/guardrail.md").is_file()
    assert "guardrail" not in str([one["AlarmName"] for one in alarms(equipped, THERE)])


# ---- who hears of it ------------------------------------------------------------------------------------------------


def test_addresses_of_the_record_hear_of_every_regions_alarms(equipped: App) -> None:
    for region in (HERE, THERE):
        (subscribed,) = equipped.base(region).properties("AWS::SNS::Subscription")
        assert (subscribed["Protocol"], subscribed["Endpoint"]) == ("email", "ops@example.com")
        assert subscribed["TopicArn"] == "memolith-test-alarms"


@pytest.mark.slow
def test_a_topic_of_the_record_is_used_instead_of_one_of_our_own(furnished: App) -> None:
    publishing = [one for one in alarms(furnished) if one["AlarmName"] not in GUARDS]
    assert {str(one["AlarmActions"]) for one in publishing} == {f"['{ON_CALL}']"}
    assert furnished.base(HERE).properties("AWS::SNS::Topic") == []
    publishing = [one for one in alarms(furnished, THERE) if one["AlarmName"] not in GUARDS]
    assert {str(one["AlarmActions"]) for one in publishing} == {"['memolith-test-alarms']"}
