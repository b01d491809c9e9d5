"""What a deployment's record says of dreams: whose language models they ask, and how many run at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.record_checks import InvalidDeployment, mapping, one_of, text, whole

SERVICES = ("extractive", "bedrock", "anthropic", "openai")
KEYED = ("anthropic", "openai")
"""Services whose API key an operator puts into the secret ``{prefix}-models``."""

MODELS_MAX = 8
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}")
_URL = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?")
_PROFILE = re.compile(r"(?:us|us-gov|eu|apac|jp|au|ca|global)\.(.+)")
"""An inference profile's id: where it may send a question, and the model's own id."""


@dataclass(frozen=True, slots=True)
class Dreams:
    """Dreams are on.

    Attributes:
        service: one of `SERVICES`; ``extractive`` is the stand-in, which is no model and costs nothing.
        models: by the name that a dream asks for: ``id``, the service's own, or one for each region; and
            ``usd_per_million``, the prices of input, output, cache written and cache read, or absent.
        url: where the service answers; absent, its usual address.
        window_tokens: what its models take; absent, what is usual there.
        concurrency: the most dreams that run at once in a region, 2 to 1000.
    """

    service: str
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    url: str | None = None
    window_tokens: int | None = None
    concurrency: int = 5

    def __post_init__(self) -> None:
        one_of("dreams.service", self.service, SERVICES)
        if len(mapping("dreams.models", self.models)) > MODELS_MAX:
            raise InvalidDeployment("dreams.models", list(self.models), f"must name {MODELS_MAX} models at most")
        if not self.models and self.service != "extractive":
            raise InvalidDeployment("dreams.models", {}, f"must name a model of {self.service}")
        for name, model in self.models.items():
            text("dreams.models", name, _NAME, "must be a name of 1 to 100 letters, digits and . _ : / -")
            _check_model(f"dreams.models.{name}", model)
        if self.url is not None:
            text("dreams.url", self.url, _URL, "must be an address such as 'https://models.example.com/v1'")
        if self.window_tokens is not None:
            whole("dreams.window_tokens", self.window_tokens, 1_000, 100_000_000)
        whole("dreams.concurrency", self.concurrency, 2, 1_000)

    @property
    def has_key(self) -> bool:
        """Whether the service is asked with a key."""
        return self.service in KEYED

    def ids(self, region: str) -> dict[str, str]:
        """Return the service's own id of each name in a region. Raises InvalidDeployment where one has none there."""
        found = {}
        for name, model in self.models.items():
            own = model["id"]
            if isinstance(own, Mapping) and region not in own:
                raise InvalidDeployment(f"dreams.models.{name}.id", own, f"must name the model's id in {region}")
            found[name] = str(own[region] if isinstance(own, Mapping) else own)
        return found

    def environment(self, region: str) -> dict[str, str]:
        """Return what `memolith.entry.settings` reads in the function that does dreams."""
        models = {name: [own, self.models[name].get("usd_per_million")] for name, own in self.ids(region).items()}
        return {
            "MEMOLITH_DREAMS": self.service,
            **({"MEMOLITH_DREAM_MODELS": json.dumps(models)} if models else {}),
            **({"MEMOLITH_MODEL_URL": self.url} if self.url else {}),
            **({"MEMOLITH_MODEL_WINDOW_TOKENS": str(self.window_tokens)} if self.window_tokens else {}),
        }


def _check_model(name: str, model: Any) -> None:
    for key in mapping(name, model):
        one_of(name, key, ("id", "usd_per_million"))
    given = model.get("id")
    for one in given.values() if isinstance(given, Mapping) else (given,):
        text(f"{name}.id", one, _ID, "must be the service's own id of a model")
    prices = model.get("usd_per_million")
    is_four = isinstance(prices, (list, tuple)) and len(prices) == 4
    if prices is not None and not (is_four and all(isinstance(one, (int, float)) and one >= 0 for one in prices)):
        raise InvalidDeployment(f"{name}.usd_per_million", prices, "must be four prices, none below 0")


def profile_model(own: str) -> str | None:
    """Return the model that an inference profile of Bedrock has answer; None where the id is a model's."""
    match = _PROFILE.fullmatch(own)
    return None if match is None else match[1]


def parse_dreams(value: Any) -> Dreams | None:
    """Read the field ``dreams`` of the record. Raises InvalidDeployment."""
    if value is None:
        return None
    given = mapping("dreams", value)
    for name in given:
        one_of("dreams", name, ("service", "models", "url", "window_tokens", "concurrency"))
    return Dreams(**{"service": None, **given})
