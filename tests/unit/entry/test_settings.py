"""The environment becomes one record, or a message that names the variable at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.entry.settings import LocalSettings, Settings, SettingsError

COMPLETE = {
    "MEMOLITH_STAGE": "dev",
    "MEMOLITH_REGIONS": "us-east-1, eu-west-1",
    "MEMOLITH_ACCOUNT": "123456789012",
    "AWS_REGION": "eu-west-1",
}


def test_what_is_required_is_enough() -> None:
    settings = Settings.read(COMPLETE)
    assert settings.deployment.bucket() == "memolith-dev-123456789012-eu-west-1"
    assert settings.deployment.regions == ("us-east-1", "eu-west-1")
    assert settings.deployment.table("memories") == "memolith-dev-memories-g1"
    assert (settings.memories_per_store, settings.log_level, settings.endpoint_url) == (10_000, "INFO", None)
    assert settings.erase_delay_days == 7


def test_everything_can_be_set() -> None:
    settings = Settings.read(
        {
            **COMPLETE,
            "MEMOLITH_INDEX_GENERATION": "3",
            "MEMOLITH_MAX_MEMORIES_PER_STORE": "50",
            "MEMOLITH_ERASE_DELAY_DAYS": "0",
            "MEMOLITH_SEARCH_MODEL": "use",
            "MEMOLITH_LOG_LEVEL": "debug",
            "POWERTOOLS_SERVICE_NAME": "reader",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
        }
    )
    assert settings.deployment.table("memories") == "memolith-dev-memories-g3"
    assert (settings.memories_per_store, settings.log_level, settings.service) == (50, "DEBUG", "reader")
    assert (settings.endpoint_url, settings.erase_delay_days) == ("http://127.0.0.1:4566", 0)
    assert settings.search_model == "use"


def test_everything_is_counted_unless_the_deployment_names_what_is() -> None:
    assert Settings.read(COMPLETE).metrics is None
    named = Settings.read({**COMPLETE, "MEMOLITH_METRICS": "erasure_age_ms, seal_failed"})
    assert named.metrics == frozenset({"erasure_age_ms", "seal_failed"})


def test_functions_are_invoked_by_an_alias_only_where_the_deployment_names_one() -> None:
    assert Settings.read(COMPLETE).deployment.function("writer") == "memolith-dev-writer"
    named = Settings.read({**COMPLETE, "MEMOLITH_FUNCTION_ALIAS": "live"})
    assert named.deployment.function("writer") == "memolith-dev-writer:live"
    with pytest.raises(SettingsError, match="MEMOLITH_FUNCTION_ALIAS"):
        Settings.read({**COMPLETE, "MEMOLITH_FUNCTION_ALIAS": "$LATEST"})


def test_former_regions_are_none_of_the_deployments_regions() -> None:
    assert Settings.read(COMPLETE).deployment.former == ()
    assert Settings.read({**COMPLETE, "MEMOLITH_FORMER_REGIONS": "ap-south-1, sa-east-1"}).deployment.former == (
        "ap-south-1",
        "sa-east-1",
    )
    for wrong in ("eu-west-1", "Mumbai", "ap-south-1,ap-south-1"):
        with pytest.raises(SettingsError, match="MEMOLITH_FORMER_REGIONS"):
            Settings.read({**COMPLETE, "MEMOLITH_FORMER_REGIONS": wrong})


def test_a_guardrail_is_off_unless_it_is_named_with_its_version() -> None:
    assert Settings.read(COMPLETE).guardrail is None
    assert (
        Settings.read({**COMPLETE, "MEMOLITH_GUARDRAIL_ID": " ", "MEMOLITH_GUARDRAIL_VERSION": "3"}).guardrail is None
    )
    chosen = {"MEMOLITH_GUARDRAIL_ID": "gr4", "MEMOLITH_GUARDRAIL_VERSION": "3"}
    guardrail = Settings.read({**COMPLETE, **chosen}).guardrail
    assert guardrail is not None
    assert (guardrail.identifier, guardrail.version) == ("gr4", "3")
    for name, value in (
        ("MEMOLITH_GUARDRAIL_ID", "GR 4"),
        ("MEMOLITH_GUARDRAIL_VERSION", ""),
        ("MEMOLITH_GUARDRAIL_VERSION", "0"),
    ):
        with pytest.raises(SettingsError, match=name):
            Settings.read({**COMPLETE, **chosen, name: value})


@pytest.mark.parametrize("name", sorted(COMPLETE))
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_variable_is_named(name: str, value: str | None) -> None:
    environment = {other: text for other, text in COMPLETE.items() if other != name}
    if value is not None:
        environment[name] = value
    with pytest.raises(SettingsError, match=f"{name} "):
        Settings.read(environment)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMOLITH_STAGE", "Dev!"),
        ("MEMOLITH_STAGE", "-dev"),
        ("MEMOLITH_ACCOUNT", "12345"),
        ("MEMOLITH_REGIONS", ","),
        ("MEMOLITH_REGIONS", "eu-west-1,eu-west-1"),
        ("MEMOLITH_REGIONS", "eu-west-1,Frankfurt"),
        ("AWS_REGION", "ap-south-1"),
        ("MEMOLITH_INDEX_GENERATION", "0"),
        ("MEMOLITH_INDEX_GENERATION", "one"),
        ("MEMOLITH_MAX_MEMORIES_PER_STORE", "-1"),
        ("MEMOLITH_MAX_MEMORIES_PER_STORE", "1.5"),
        ("MEMOLITH_ERASE_DELAY_DAYS", "-1"),
        ("MEMOLITH_ERASE_DELAY_DAYS", "366"),
        ("MEMOLITH_ERASE_DELAY_DAYS", "a week"),
        ("MEMOLITH_SEARCH_MODEL", "USE-2"),
        ("MEMOLITH_RERANK_MODEL_ARN", "cohere.rerank-v3-5:0"),
        ("MEMOLITH_LOG_LEVEL", "LOUD"),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.read({**COMPLETE, name: value})


def test_a_laptop_needs_to_be_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert LocalSettings.read({}) == LocalSettings(Path("/home/somebody/.memolith"), 8377, False, 10_000, "WARNING", 7)


def test_a_laptop_can_be_told_everything() -> None:
    told = {
        "MEMOLITH_ROOT": "/srv/memolith",
        "MEMOLITH_PORT": "0",
        "MEMOLITH_OUTPUT": "json",
        "MEMOLITH_MAX_MEMORIES_PER_STORE": "5",
        "MEMOLITH_LOG_LEVEL": "info",
        "MEMOLITH_ERASE_DELAY_DAYS": "0",
        "MEMOLITH_SEARCH_MODEL": "use",
    }
    assert LocalSettings.read(told) == LocalSettings(Path("/srv/memolith"), 0, True, 5, "INFO", 0, "use")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMOLITH_RERANK_URL", "file:///etc/passwd"),
        ("MEMOLITH_RERANK_URL", "https://user:word@example.com/"),
        ("MEMOLITH_PORT", "65536"),
        ("MEMOLITH_PORT", "http"),
        ("MEMOLITH_MAX_MEMORIES_PER_STORE", "0"),
    ],
)
def test_a_wrong_variable_of_a_laptop_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        LocalSettings.read({name: value})


def test_a_laptops_reranker_is_an_address_a_model_and_a_key_that_is_never_shown() -> None:
    told = {"MEMOLITH_RERANK_URL": "http://127.0.0.1:8080/rerank", "MEMOLITH_RERANK_KEY": "a-secret"}
    settings = LocalSettings.read(told)
    assert settings.reranker is not None
    assert (settings.reranker.url, settings.reranker.model, settings.reranker.key) == (
        "http://127.0.0.1:8080/rerank",
        None,
        "a-secret",
    )
    assert "a-secret" not in repr(settings)
    assert LocalSettings.read({}).reranker is None


def test_a_laptops_models_have_a_default_where_one_is_named() -> None:
    service = {"MEMOLITH_MODEL_SERVICE": "openai", "OPENAI_API_KEY": "sk-x"}
    model = LocalSettings.read({**service, "MEMOLITH_MODEL_ID": " qwen3:8b "}).model
    assert model is not None and model.default == "qwen3:8b"
    model = LocalSettings.read(service).model
    assert model is not None and model.default is None
