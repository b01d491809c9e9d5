"""What is deployed, and where: one validated record, read once.

The record stands in ``cdk.json`` under the context key ``memolith``. A deployment of something other than what is
there (the local cloud, a test, a second stage) passes a JSON object that is merged over it, key by key::

    cdk deploy --all -c memolith-overrides='{"stage": "test", "regions": ["us-east-1"], "bundling": "host"}'

Every name of every resource is derived here and nowhere else in the app; the functions derive the same names from
their environment (`memolith.entry.settings`), which this record also fills.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from infra.dreaming import Dreams, parse_dreams
from infra.record_checks import InvalidDeployment
from infra.record_checks import guardrail as _guardrail
from infra.record_checks import mapping as _mapping
from infra.record_checks import one_of as _one_of
from infra.record_checks import region_list as _list
from infra.record_checks import reservation as _reservation
from infra.record_checks import text as _text
from infra.record_checks import whole as _whole

OVERRIDES_KEY = "memolith-overrides"

FUNCTIONS = (
    "reader",
    "writer",
    "peerreader",
    "peerwriter",
    "keys",
    "indexer",
    "eraser",
    "scanner",
    "packer",
    "tool",
    "mcp",
    "reconciler",
    "dreamer",
)
OPTIONAL_FUNCTIONS = ("dreamer",)
"""Functions that a deployment has only where its record switches them on."""
ARCHITECTURES = ("x86_64", "arm64")
BUNDLINGS = ("lambda", "host")
SEARCH_MODELS = ("none", "use")
ROLLOUTS = ("gradual", "at_once", "unversioned")
FRONT_DOORS = ("http_api", "function_urls")
MONITORINGS = ("full", "least")
TICK_MINUTES_MAX = 5
PACKER_CONCURRENCY = 5
REGIONS_MAX = 10
POLICY_CHARACTERS_MAX = 10_240
"""Of a role's inline policies together. Source: IAM User Guide, "IAM and AWS STS quotas"."""
ALIAS = "live"
"""What every caller of a function invokes: the version that serves. A deployment moves it to a new one."""

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)  # fmt: skip
"""What CloudWatch Logs accepts. Source: PutRetentionPolicy, ``retentionInDays``."""

_STAGE = re.compile(r"[a-z][a-z0-9-]{0,15}(?<!-)")
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_ACCOUNT = re.compile(r"[0-9]{12}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_ZONE = re.compile(r"Z[A-Z0-9]{1,31}")
_DOMAIN = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}")
_MODEL = re.compile(r"[A-Za-z0-9.:_-]{1,200}")
_S3_NAME_CHARACTERS_MAX = 63
_ACCOUNT_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Limits:
    """What one region of the deployment lets through.

    Attributes:
        memories_per_store: The most live memories that one store may hold.
        erase_delay_days: For how many days a deleted store can be restored before it is erased; 0 erases it at once.
        requests_per_second, requests_burst: The HTTP API's steady rate, all callers together, and that of a moment.
        indexer_concurrency, scanner_concurrency: The most that run at once for one queue, 2 to 1000.
        comparison_parts: In how many parts, at work at once, the bucket is compared with the tables each day, 1 to 50.
        reserved_concurrency: Function to reserved concurrency; a function not named shares the account's. Where queues
            invoke it, no less than so many times at once (`Deployment.polled`).
    """

    memories_per_store: int = 10_000
    erase_delay_days: int = 7
    requests_per_second: int = 500
    requests_burst: int = 1_000
    indexer_concurrency: int = 20
    scanner_concurrency: int = 10
    comparison_parts: int = 1
    reserved_concurrency: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _whole("limits.memories_per_store", self.memories_per_store, 1, 1_000_000)
        _whole("limits.erase_delay_days", self.erase_delay_days, 0, 365)
        _whole("limits.requests_per_second", self.requests_per_second, 1, 100_000)
        _whole("limits.requests_burst", self.requests_burst, self.requests_per_second, 100_000)
        _whole("limits.indexer_concurrency", self.indexer_concurrency, 2, 1_000)
        _whole("limits.scanner_concurrency", self.scanner_concurrency, 2, 1_000)
        _whole("limits.comparison_parts", self.comparison_parts, 1, 50)
        for name, count in _mapping("limits.reserved_concurrency", self.reserved_concurrency).items():
            _one_of("limits.reserved_concurrency", name, FUNCTIONS)
            _whole(f"limits.reserved_concurrency.{name}", count, 0, 100_000)


@dataclass(frozen=True, slots=True)
class Alarms:
    """Who hears of alarms.

    Attributes:
        emails: Addresses that every region's topic writes to, once each has confirmed.
        topics: Region to the ARN of an SNS topic of yours in it, to which CloudWatch may publish, instead of one made.
    """

    emails: tuple[str, ...] = ()
    topics: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for address in self.emails:
            _text("alarms.emails", address, _EMAIL, "must be an address")
        for region, arn in _mapping("alarms.topics", self.topics).items():
            _text(f"alarms.topics.{region}", arn, _TOPIC, "must be an SNS topic's ARN")
            if f":sns:{region}:" not in arn:
                raise InvalidDeployment(f"alarms.topics.{region}", arn, f"must lie in {region}")


@dataclass(frozen=True, slots=True)
class Routing:
    """One name for all regions, whose answer is the nearest that is well.

    Attributes:
        domain: The name that callers use; in the zone or below it.
        zone_id: Of a public hosted zone of Route 53, in the deployment's account.
        zone_name: The zone's own domain.
    """

    domain: str
    zone_id: str
    zone_name: str

    def __post_init__(self) -> None:
        _text("routing.zone_id", self.zone_id, _ZONE, "must be a hosted zone's id, such as 'Z0123456789ABCDEFGHIJ'")
        rule = "must be a domain's name in lower case, without a dot at its end"
        _text("routing.zone_name", self.zone_name, _DOMAIN, rule)
        _text("routing.domain", self.domain, _DOMAIN, rule)
        if self.domain != self.zone_name and not self.domain.endswith(f".{self.zone_name}"):
            raise InvalidDeployment("routing.domain", self.domain, f"must lie in the zone {self.zone_name}")


@dataclass(frozen=True, slots=True)
class Deployment:
    """One deployment of Memolith: a stage, in one or more regions of one account.

    Attributes:
        stage: Distinguishes deployments within an account; part of every name.
        regions: All regions of the deployment; each holds every store.
        former_regions: Regions that were removed. What they wrote is kept under their names.
        account: Twelve digits; absent, the deploying account.
        limits: What a region lets through.
        alarms: Who hears of alarms.
        replication_time_control: S3's own promise of 15 minutes, paid by the gigabyte.
        architecture: The processor of every function. Their dependencies are fetched for it.
        bundling: ``lambda`` fetches dependencies for Lambda's Linux; ``host`` for this Python, as a local cloud needs.
        python_version: The functions' Python, for example ``3.13``.
        functions_path: The folder of the functions' code, from the checkout's root; a test may have another.
        portable_assembly: Bundles are built at synth and lie in the assembly, which another machine can then deploy.
        index_generation: Region to the generation of its index tables that the stack declares; 1 where absent.
        guardrails: Region to the Bedrock guardrail that its scanner asks, ``{"id": …, "version": …}``; none by default.
        routing: One name for all regions; none by default, and each region then answers at its own address alone.
        rollout: How calls come to a new version: ``gradual``, ``at_once``; ``unversioned`` for an emulator.
        front_door, layers: ``function_urls`` and false for an emulator that has no HTTP APIs and no layers.
        rerankers: Region to the id of the Bedrock rerank model that orders what its searches find; none by default.
        dreams: Whose language models dreams ask (`infra.dreaming`); by default there are no dreams, and no function.
        search_model: The model of meanings that searches use beside words; ``none``, or ``use`` (docs/search.md).
        monitoring: ``full``, or ``least``: the alarms of what is lost or stands still, and nothing that costs without
            being asked: no dashboard, no traces, no metrics but those that an alarm watches (docs/cost.md).
        tick_minutes: How often the reconciler and the eraser are woken, 1 to 5.
        log_retention_days: How long logs are kept.
        log_level: Of every function.
        emulated: Deployed to the local cloud. The templates are the same; only cdk-nag, which takes its time, is left.
    """

    stage: str
    regions: tuple[str, ...]
    former_regions: tuple[str, ...] = ()
    account: str | None = None
    limits: Limits = field(default_factory=Limits)
    alarms: Alarms = field(default_factory=Alarms)
    replication_time_control: bool = True
    architecture: str = "x86_64"
    bundling: str = "lambda"
    python_version: str = "3.13"
    functions_path: str = "functions"
    portable_assembly: bool = False
    index_generation: Mapping[str, int] = field(default_factory=dict)
    guardrails: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    routing: Routing | None = None
    rollout: str = "gradual"
    front_door: str = "http_api"
    layers: bool = True
    rerankers: Mapping[str, str] = field(default_factory=dict)
    dreams: Dreams | None = None
    search_model: str = "none"
    monitoring: str = "full"
    tick_minutes: int = 1
    log_retention_days: int = 30
    log_level: str = "INFO"
    emulated: bool = False

    def __post_init__(self) -> None:
        self._check_counts()
        rule = "must be 1 to 16 of a-z, 0-9 and '-', beginning with a letter, not ending in '-'"
        _text("stage", self.stage, _STAGE, rule)
        for name, named in (("regions", self.regions), ("former_regions", self.former_regions)):
            for region in named:
                _text(name, region, _REGION, "must be a region's name, such as 'eu-west-1'")
            if len(set(named)) != len(named):
                raise InvalidDeployment(name, list(named), "must not name a region twice")
        if set(self.former_regions) & set(self.regions):
            raise InvalidDeployment("former_regions", list(self.former_regions), "must name no region of 'regions'")
        if len({partition_of(region) for region in self.regions}) > 1:
            raise InvalidDeployment(
                "regions", list(self.regions), "must lie in one AWS partition: S3 replicates no further"
            )
        if self.account is not None:
            _text("account", self.account, _ACCOUNT, "must be twelve digits, as a string")
        for name in ("replication_time_control", "portable_assembly", "emulated", "layers"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidDeployment(name, getattr(self, name), "must be true or false")
        _one_of("architecture", self.architecture, ARCHITECTURES)
        _one_of("bundling", self.bundling, BUNDLINGS)
        _one_of("rollout", self.rollout, ROLLOUTS)
        _one_of("front_door", self.front_door, FRONT_DOORS if self.rollout == "unversioned" else FRONT_DOORS[:1])
        self._check_models()
        rule = "must be a Python from '3.11' on, as a string"
        _text("python_version", self.python_version, re.compile(r"3\.1[1-9]"), rule)
        _text("functions_path", self.functions_path, re.compile(r".+"), "must be a folder's path")
        for region in self.alarms.topics:
            _one_of("alarms.topics", region, self.regions)
        for region, generation in _mapping("index_generation", self.index_generation).items():
            _one_of("index_generation", region, self.regions)
            _whole(f"index_generation.{region}", generation, 1, 1_000_000)
        for region, guardrail in _mapping("guardrails", self.guardrails).items():
            _one_of("guardrails", region, self.regions)
            _guardrail(f"guardrails.{region}", guardrail)
        _one_of("log_retention_days", self.log_retention_days, RETENTION_DAYS)
        _one_of("log_level", self.log_level, LOG_LEVELS)
        longest = max(len(f"{self.prefix}--{region}") for region in self.regions) + _ACCOUNT_CHARACTERS
        if longest > _S3_NAME_CHARACTERS_MAX:
            raise InvalidDeployment("stage", self.stage, f"makes a bucket name of {longest} characters; S3 allows 63")

    def _check_counts(self) -> None:
        if not 0 < len(self.regions) <= REGIONS_MAX:
            rule = f"must name one to {REGIONS_MAX} regions: IAM takes no policy that names more"
            raise InvalidDeployment("regions", list(self.regions), rule)
        _one_of("monitoring", self.monitoring, MONITORINGS)
        if self.monitoring == "least" and self.rollout == "gradual":
            raise InvalidDeployment("rollout", self.rollout, "needs the alarms that 'monitoring': 'least' leaves out")
        _whole("tick_minutes", self.tick_minutes, 1, TICK_MINUTES_MAX)
        for name, polled in self.polled.items():
            _reservation(name, self.limits.reserved_concurrency.get(name, polled), polled)

    def _check_models(self) -> None:
        for region, model in _mapping("rerankers", self.rerankers).items():
            _one_of("rerankers", region, self.regions)
            _text(f"rerankers.{region}", model, _MODEL, "must be a model's id, such as 'cohere.rerank-v3-5:0'")
        _one_of("search_model", self.search_model, SEARCH_MODELS)

    @property
    def prefix(self) -> str:
        """What every name begins with, for example ``memolith-dev``."""
        return f"memolith-{self.stage}"

    @property
    def account_or_token(self) -> str:
        """The account's number; while it is not known, a token that CloudFormation replaces by it."""
        if self.account is not None:
            return self.account
        from aws_cdk import Aws

        return Aws.ACCOUNT_ID

    def bucket(self, region: str) -> str:
        """Return the name of the region's bucket."""
        return f"{self.prefix}-{self.account_or_token}-{region}"

    def generation(self, region: str) -> int:
        """Return the generation of index tables that the region's stack declares."""
        return self.index_generation.get(region, 1)

    def peers(self, region: str) -> tuple[str, ...]:
        """Return all other regions, in the record's order."""
        return tuple(other for other in self.regions if other != region)

    def function(self, name: str) -> str:
        """Return the name of a function; the same in every region."""
        return f"{self.prefix}-{name}"

    @property
    def has_search_model(self) -> bool:
        """Whether functions that search carry a model."""
        return self.search_model != "none"

    @property
    def polled(self) -> dict[str, int]:
        """The functions that queues invoke, and how many times at once all of its queues invoke each."""
        two_queues = 2 * self.limits.indexer_concurrency
        always = {"indexer": two_queues, "scanner": self.limits.scanner_concurrency, "packer": PACKER_CONCURRENCY}
        return always if self.dreams is None else {**always, "dreamer": self.dreams.concurrency}

    @property
    def alias(self) -> str | None:
        """The alias by which functions are invoked; None where they have no versions."""
        return None if self.rollout == "unversioned" else ALIAS

    def invoked(self, name: str) -> str:
        """Return the name under which a function is invoked: that of its alias, if it has one."""
        return self.function(name) + (f":{self.alias}" if self.alias else "")

    def regional(self, name: str, region: str) -> str:
        """Return a name with the region in it: for roles, since IAM is global, and for what runs in a deployment."""
        return f"{self.prefix}-{name}-{region}"

    def arn(self, service: str, region: str, resource: str) -> str:
        """Return an ARN in this deployment's account; `region` is empty where the service has none."""
        partition = partition_of(self.regions[0])
        account = "" if service == "s3" else self.account_or_token
        return f"arn:{partition}:{service}:{region}:{account}:{resource}"


def partition_of(region: str) -> str:
    """Return the AWS partition of a region. Source: AWS General Reference, "ARNs"."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def parse(record: Mapping[str, Any]) -> Deployment:
    """Read a deployment from JSON-shaped values.

    Raises:
        InvalidDeployment: A field is unknown, missing, or breaks its rule.
    """
    values = dict(_known("", record, Deployment))
    for required in ("stage", "regions"):
        if required not in values:
            raise InvalidDeployment(required, None, "is required")
    values["regions"] = _list("regions", values["regions"])
    values["former_regions"] = _list("former_regions", values.get("former_regions", []))
    values["limits"] = Limits(**_known("limits.", _mapping("limits", values.get("limits", {})), Limits))
    values["alarms"] = _alarms(values.get("alarms", {}))
    if values.get("routing") is not None:
        values["routing"] = _routing(values["routing"])
    values["dreams"] = parse_dreams(values.get("dreams"))
    return Deployment(**values)


def _routing(value: Any) -> Routing:
    given = dict(_known("routing.", _mapping("routing", value), Routing))
    for required in fields(Routing):
        if required.name not in given:
            raise InvalidDeployment(f"routing.{required.name}", None, "is required")
    return Routing(**given)


def _alarms(value: Any) -> Alarms:
    given = dict(_known("alarms.", _mapping("alarms", value), Alarms))
    if "emails" in given:
        if not isinstance(given["emails"], (list, tuple)):
            raise InvalidDeployment("alarms.emails", given["emails"], "must be a list of addresses")
        given["emails"] = tuple(given["emails"])
    return Alarms(**given)


def merged(record: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Put `overrides` over `record`: objects are merged key by key, everything else is replaced."""
    result = dict(record)
    for key, value in overrides.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result


def _known(path: str, record: Mapping[str, Any], shape: type) -> Mapping[str, Any]:
    names = [f.name for f in fields(shape)]
    for name in record:
        if name not in names:
            raise InvalidDeployment(f"{path}{name}", record[name], f"is not a field; the fields are {', '.join(names)}")
    return record
