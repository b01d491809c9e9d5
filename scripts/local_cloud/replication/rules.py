"""What the buckets' replication configurations ask for.

Source: Amazon S3 API reference, ReplicationRule; user guide, "Replication configuration file elements".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from scripts.local_cloud.aws import Clients


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and the region it lies in."""

    region: str
    name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Objects of ``source`` whose key begins with ``prefix`` are copied to ``destination``."""

    source: Bucket
    destination: Bucket
    prefix: str


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules in force, and, in words, what of the configurations is not obeyed."""

    rules: tuple[Rule, ...] = ()
    ignored: tuple[str, ...] = ()

    def destinations(self, source: str, key: str) -> list[Bucket]:
        """Return the buckets that an object is copied to, each once; none if no rule names its prefix."""
        matching = [rule for rule in self.rules if rule.source.name == source and key.startswith(rule.prefix)]
        return list(dict.fromkeys(rule.destination for rule in matching))

    def prefixes(self, source: str) -> list[str]:
        """Return the prefixes of a bucket that any rule names, without those contained in another."""
        named = sorted({rule.prefix for rule in self.rules if rule.source.name == source})
        return [one for one in named if not any(one != other and one.startswith(other) for other in named)]

    def pairs(self) -> list[tuple[Bucket, Bucket]]:
        """List every pair of buckets that a rule joins."""
        return list(dict.fromkeys((rule.source, rule.destination) for rule in self.rules))


def read_rules(clients: Clients, buckets: Mapping[str, str]) -> Rules:
    """Read the configuration of each bucket (region to name): one GET each.

    A bucket without a configuration has no rules. A rule that is disabled is none. A rule that filters by tags, or
    whose destination is not among ``buckets``, is ignored and said so.
    """
    rules: list[Rule] = []
    ignored: list[str] = []
    regions = {name: region for region, name in buckets.items()}
    for region, name in buckets.items():
        for rule in _configured(clients, region, name):
            if rule.get("Status") != "Enabled":
                continue
            destination = rule["Destination"]["Bucket"].rsplit(":::", 1)[-1]
            prefix = _prefix(rule)
            if prefix is None:
                ignored.append(f"{name}: rule {rule.get('ID', '?')} filters by tags")
            elif destination not in regions:
                ignored.append(f"{name}: rule {rule.get('ID', '?')} names the unknown bucket {destination}")
            else:
                rules.append(Rule(Bucket(region, name), Bucket(regions[destination], destination), prefix))
    return Rules(tuple(rules), tuple(ignored))


def _configured(clients: Clients, region: str, name: str) -> list[Mapping[str, Any]]:
    try:
        answer: Mapping[str, Any] = clients.s3(region).get_bucket_replication(Bucket=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ReplicationConfigurationNotFoundError":
            return []
        raise
    rules: list[Mapping[str, Any]] = answer["ReplicationConfiguration"]["Rules"]
    return rules


def _prefix(rule: Mapping[str, Any]) -> str | None:
    """Return the prefix that a rule filters by, in either of its forms; None if it filters by tags."""
    criteria: Mapping[str, Any] = rule.get("Filter") or {}
    if "Tag" in criteria or "Tags" in criteria.get("And", {}):
        return None
    prefix: str = criteria.get("And", criteria).get("Prefix", rule.get("Prefix", "")) or ""
    return prefix
