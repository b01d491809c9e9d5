"""The environment, read once, here and nowhere else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from memolith.adapters.aws.names import Deployment
from memolith.core.limits import ERASE_DELAY_DAYS_DEFAULT, ERASE_DELAY_DAYS_MAX, MEMORIES_PER_STORE_DEFAULT

SEARCH_MODELS = ("none", "use")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

_STAGE = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_ALIAS = re.compile(r"[a-z][a-z0-9_-]{0,127}")
_ACCOUNT = re.compile(r"\d{12}")
_GUARDRAIL = re.compile(r"[a-z0-9]+")
_GUARDRAIL_VERSION = re.compile(r"[1-9][0-9]{0,7}|DRAFT")
_RERANK_MODEL = re.compile(r"arn:aws[a-z-]*:bedrock:[a-z0-9-]+::foundation-model/[A-Za-z0-9.:_-]{1,200}")
RERANK_URL_MAX_CHARS = 2_000
_REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


class SettingsError(Exception):
    """A variable is missing or wrong. The message names it and says what it should be."""


@dataclass(frozen=True, slots=True)
class ChosenGuardrail:
    """One version of a Bedrock guardrail, in the function's own region."""

    identifier: str
    version: str


@dataclass(frozen=True, slots=True)
class ChosenReranker:
    """A service that speaks Cohere's rerank interface; its key is a secret."""

    url: str
    model: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ChosenDreams:
    """Whose language models the dreams of a deployment ask.

    Attributes:
        service: one of `DREAM_SERVICES`.
        models: the names that a dream may ask for, each with the service's own id; of the stand-in, none.
        prices: by name, dollars for a million tokens: input, output, cache written, cache read.
        url: where it answers; None for its usual address.
        window_tokens: what its models take; None for what is usual there.
    """

    service: str
    models: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, tuple[float, float, float, float]] = field(default_factory=dict)
    url: str | None = None
    window_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What a function is told by its deployment.

    Attributes:
        deployment: stage, account and regions; every name of a resource follows from it.
        memories_per_store: how many live memories a store may hold.
        log_level: one of `LOG_LEVELS`.
        service: the function's short name, for logs and metrics.
        endpoint_url: where an emulator of AWS listens, or None on AWS.
        guardrail: what the scanner asks for a second opinion, or None where that is off.
        erase_delay_days: for how many days a deleted store can be restored; 0 erases it at once.
        search_model: the model of meanings that searches use beside words, one of `SEARCH_MODELS`.
        rerank_model_arn: the rerank model of Bedrock that orders what searches find, or None where that is off.
        dreams: whose language models dreams ask, or None where the deployment does no dreams.
        metrics: the names of all that is counted for CloudWatch, or None for everything.
    """

    deployment: Deployment
    memories_per_store: int = MEMORIES_PER_STORE_DEFAULT
    log_level: str = "INFO"
    service: str = "memolith"
    endpoint_url: str | None = None
    guardrail: ChosenGuardrail | None = None
    erase_delay_days: int = ERASE_DELAY_DAYS_DEFAULT
    search_model: str = "none"
    rerank_model_arn: str | None = None
    dreams: ChosenDreams | None = None
    metrics: frozenset[str] | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings in `environment`.

        Raises:
            SettingsError: naming the first variable that is missing or wrong.
        """
        regions = tuple(filter(None, (part.strip() for part in _required(environment, "MEMOLITH_REGIONS").split(","))))
        if not regions or len(set(regions)) != len(regions) or not all(map(_REGION.fullmatch, regions)):
            raise SettingsError("MEMOLITH_REGIONS must be the deployment's regions, such as us-east-1,eu-west-1")
        region = _required(environment, "AWS_REGION")
        if region not in regions:
            raise SettingsError(f"AWS_REGION must be one of MEMOLITH_REGIONS; it is {region}")
        return cls(
            deployment=Deployment(
                stage=_matching(environment, "MEMOLITH_STAGE", _STAGE, "a name such as dev"),
                account=_matching(environment, "MEMOLITH_ACCOUNT", _ACCOUNT, "twelve digits"),
                regions=regions,
                region=region,
                index_generation=_count(environment, "MEMOLITH_INDEX_GENERATION", 1),
                alias=_alias(environment),
                former=_former_regions(environment, regions),
            ),
            memories_per_store=_count(environment, "MEMOLITH_MAX_MEMORIES_PER_STORE", MEMORIES_PER_STORE_DEFAULT),
            log_level=_log_level(environment),
            service=environment.get("POWERTOOLS_SERVICE_NAME") or "memolith",
            endpoint_url=environment.get("AWS_ENDPOINT_URL") or None,
            guardrail=_guardrail(environment),
            erase_delay_days=_erase_delay_days(environment),
            search_model=_search_model(environment),
            rerank_model_arn=_rerank_model(environment),
            dreams=_dreams(environment),
            metrics=_metrics(environment),
        )


def _metrics(environment: Mapping[str, str]) -> frozenset[str] | None:
    names = filter(None, (part.strip() for part in environment.get("MEMOLITH_METRICS", "").split(",")))
    return frozenset(names) or None


def _former_regions(environment: Mapping[str, str], regions: tuple[str, ...]) -> tuple[str, ...]:
    text = environment.get("MEMOLITH_FORMER_REGIONS", "")
    former = tuple(filter(None, (part.strip() for part in text.split(","))))
    if len(set(former)) != len(former) or set(former) & set(regions) or not all(map(_REGION.fullmatch, former)):
        raise SettingsError("MEMOLITH_FORMER_REGIONS must be regions that are not in MEMOLITH_REGIONS, each once")
    return former


def _alias(environment: Mapping[str, str]) -> str | None:
    if not environment.get("MEMOLITH_FUNCTION_ALIAS"):
        return None
    return _matching(environment, "MEMOLITH_FUNCTION_ALIAS", _ALIAS, "an alias such as live")


def seal_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where this user keeps what seals a laptop's checkpoints, outside of every data folder.

    ``MEMOLITH_SEAL_FOLDER``; by default ``memolith`` in the folder of the user's configuration.
    """
    told = environment.get("MEMOLITH_SEAL_FOLDER", "").strip()
    configuration = environment.get("XDG_CONFIG_HOME", "").strip() or "~/.config"
    return Path(told or f"{configuration}/memolith").expanduser().absolute()


MODEL_SERVICES = ("anthropic", "openai", "bedrock")


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """Whose language models dreams and extractions ask.

    Attributes:
        service: one of `MODEL_SERVICES`.
        key: the service's API key; empty for Bedrock, which has the machine's AWS credentials.
        url: where it answers; None for its usual address.
        window_tokens: what its models take; None for what is usual there.
        region: of Bedrock.
        default: the service's own id of the model that is asked where none is named; None where one has to be.
    """

    service: str
    key: str = field(default="", repr=False)
    url: str | None = None
    window_tokens: int | None = None
    region: str = ""
    default: str | None = None


STAND_IN = "extractive"
KEYED_SERVICES = ("anthropic", "openai")
"""Services whose key is a secret; Bedrock goes by the function's own rights."""

DREAM_SERVICES = (STAND_IN, *MODEL_SERVICES)


def _dreams(environment: Mapping[str, str]) -> ChosenDreams | None:
    """Read whose models a deployment's dreams ask, off unless a service is named.

    ``MEMOLITH_DREAM_MODELS`` is a JSON object: a name, to the service's own id and four prices or null.
    """
    service = environment.get("MEMOLITH_DREAMS", "").strip()
    if not service:
        return None
    if service not in DREAM_SERVICES:
        raise SettingsError(f"MEMOLITH_DREAMS must be one of {', '.join(DREAM_SERVICES)}; it is {service}")
    models, prices = {}, {}
    try:
        for name, (own, price) in json.loads(environment.get("MEMOLITH_DREAM_MODELS", "") or "{}").items():
            models[str(name)] = str(own)
            if price is not None:
                a, b, c, d = map(float, price)
                prices[str(name)] = prices[str(own)] = (a, b, c, d)
    except (ValueError, TypeError, AttributeError):
        rule = 'must be a JSON object such as {"small": ["the id", [3, 15, 3.75, 0.3]]}'
        raise SettingsError(f"MEMOLITH_DREAM_MODELS {rule}") from None
    window = environment.get("MEMOLITH_MODEL_WINDOW_TOKENS", "").strip()
    return ChosenDreams(
        service,
        models,
        prices,
        environment.get("MEMOLITH_MODEL_URL", "").strip() or None,
        _count(environment, "MEMOLITH_MODEL_WINDOW_TOKENS", 1) if window else None,
    )


DEFAULT_ROOT = "~/.memolith"
DEFAULT_PORT = 8377


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What ``memolith serve`` is told.

    Attributes:
        root: the folder that everything stands in.
        port: where to listen on 127.0.0.1; 0 for any that is free.
        as_json: whether the line it starts with is for programs.
        memories_per_store: how many live memories a store may hold.
        log_level: one of `LOG_LEVELS`.
        erase_delay_days: for how many days a deleted store can be restored; 0 erases it at once.
        search_model: the model of meanings that searches use beside words, one of `SEARCH_MODELS`.
        model: whose language models are asked; None for the stand-in, which is no model.
        reranker: a service that orders what searches find, or None where that is off.
    """

    root: Path
    port: int = DEFAULT_PORT
    as_json: bool = False
    memories_per_store: int = MEMORIES_PER_STORE_DEFAULT
    log_level: str = "WARNING"
    erase_delay_days: int = ERASE_DELAY_DAYS_DEFAULT
    search_model: str = "none"
    model: ChosenModel | None = None
    reranker: ChosenReranker | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> LocalSettings:
        """Read the settings in `environment`; every one of them may be missing.

        Raises:
            SettingsError: naming the first variable that is wrong.
        """
        port = environment.get("MEMOLITH_PORT", "").strip() or str(DEFAULT_PORT)
        if not (port.isascii() and port.isdecimal() and int(port) < 65_536):
            raise SettingsError(f"MEMOLITH_PORT must be a whole number from 0 to 65535; it is {port}")
        return cls(
            root=Path(environment.get("MEMOLITH_ROOT", "").strip() or DEFAULT_ROOT).expanduser().absolute(),
            port=int(port),
            as_json=environment.get("MEMOLITH_OUTPUT", "") == "json",
            memories_per_store=_count(environment, "MEMOLITH_MAX_MEMORIES_PER_STORE", MEMORIES_PER_STORE_DEFAULT),
            log_level=_log_level(environment, "WARNING"),
            erase_delay_days=_erase_delay_days(environment),
            search_model=_search_model(environment),
            model=_model(environment),
            reranker=_reranker(environment),
        )


def _model(environment: Mapping[str, str]) -> ChosenModel | None:
    """Read whose models are asked, off unless a service is named."""
    service = environment.get("MEMOLITH_MODEL_SERVICE", "").strip().lower()
    if not service:
        return None
    if service not in MODEL_SERVICES:
        raise SettingsError(f"MEMOLITH_MODEL_SERVICE must be one of {', '.join(MODEL_SERVICES)}; it is {service}")
    window = environment.get("MEMOLITH_MODEL_WINDOW_TOKENS", "").strip()
    return ChosenModel(
        service,
        key="" if service == "bedrock" else _required(environment, f"{service.upper()}_API_KEY"),
        url=environment.get("MEMOLITH_MODEL_URL", "").strip() or None,
        window_tokens=_count(environment, "MEMOLITH_MODEL_WINDOW_TOKENS", 1) if window else None,
        region=_required(environment, "AWS_REGION") if service == "bedrock" else "",
        default=environment.get("MEMOLITH_MODEL_ID", "").strip() or None,
    )


def _guardrail(environment: Mapping[str, str]) -> ChosenGuardrail | None:
    """Read the guardrail, off unless its id is given; the version is required too, because ``DRAFT`` may change."""
    if not environment.get("MEMOLITH_GUARDRAIL_ID", "").strip():
        return None
    return ChosenGuardrail(
        _matching(environment, "MEMOLITH_GUARDRAIL_ID", _GUARDRAIL, "a guardrail's id"),
        _matching(environment, "MEMOLITH_GUARDRAIL_VERSION", _GUARDRAIL_VERSION, "a version's number, or DRAFT"),
    )


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise SettingsError(f"{name} is missing")
    return value


def _matching(environment: Mapping[str, str], name: str, pattern: re.Pattern[str], what: str) -> str:
    value = _required(environment, name)
    if not pattern.fullmatch(value):
        raise SettingsError(f"{name} must be {what}; it is {value}")
    return value


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    value = environment.get(name, "").strip() or str(default)
    if not (value.isascii() and value.isdecimal() and int(value) >= 1):
        raise SettingsError(f"{name} must be a whole number from 1; it is {value}")
    return int(value)


def _erase_delay_days(environment: Mapping[str, str]) -> int:
    value = environment.get("MEMOLITH_ERASE_DELAY_DAYS", "").strip() or str(ERASE_DELAY_DAYS_DEFAULT)
    if not (value.isascii() and value.isdecimal() and int(value) <= ERASE_DELAY_DAYS_MAX):
        rule = f"must be a whole number of days from 0 to {ERASE_DELAY_DAYS_MAX}"
        raise SettingsError(f"MEMOLITH_ERASE_DELAY_DAYS {rule}; it is {value}")
    return int(value)


def _rerank_model(environment: Mapping[str, str]) -> str | None:
    if not environment.get("MEMOLITH_RERANK_MODEL_ARN", "").strip():
        return None
    return _matching(environment, "MEMOLITH_RERANK_MODEL_ARN", _RERANK_MODEL, "the ARN of a model of Bedrock")


def _reranker(environment: Mapping[str, str]) -> ChosenReranker | None:
    if not (url := environment.get("MEMOLITH_RERANK_URL", "").strip()):
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or len(url) > RERANK_URL_MAX_CHARS:
        raise SettingsError("MEMOLITH_RERANK_URL must be an address such as http://127.0.0.1:8080/v1/rerank")
    model, key = (environment.get(f"MEMOLITH_RERANK_{name}", "").strip() or None for name in ("MODEL", "KEY"))
    return ChosenReranker(url, model, key)


def _search_model(environment: Mapping[str, str]) -> str:
    name = environment.get("MEMOLITH_SEARCH_MODEL", "").strip() or "none"
    if name not in SEARCH_MODELS:
        raise SettingsError(f"MEMOLITH_SEARCH_MODEL must be one of {', '.join(SEARCH_MODELS)}; it is {name}")
    return name


def _log_level(environment: Mapping[str, str], default: str = "INFO") -> str:
    level = (environment.get("MEMOLITH_LOG_LEVEL") or default).upper()
    if level not in LOG_LEVELS:
        raise SettingsError(f"MEMOLITH_LOG_LEVEL must be one of {', '.join(LOG_LEVELS)}; it is {level}")
    return level
