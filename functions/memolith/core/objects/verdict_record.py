"""A verdict on a text: withheld, released or restored; by whom, when and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

from memolith.core.object_keys import VerdictKey
from memolith.core.objects.schema import SCHEMA, _load, known


class VerdictOutcome(StrEnum):
    """What a verdict says of a text. Only the last two change whether it is shown."""

    ALLOW = "allow"
    FLAG = "flag"
    WITHHOLD = "withhold"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """One verdict on the text of one version; the JSON body of its object. It outlives the text, and so holds none.

    Attributes:
        position: where the version stands, as text of a `LogRef`; empty where nothing but a row told of the verdict.
        content_hmac: `core.verdicts.content_hmac` of the text's hash: what the verdict holds for, under any version.
        findings: as the API tells them, each with its ``rule``, without the excerpt.
        decided_by: ``scanner``, or who released it: ``api_key:…``.
        reason: one line; for a release, in the words of the person that released it.
        fingerprints: `core.fingerprints` of what was found, by which other memories of the store are compared with it.
        region, sequence: its key's; the maker of a record leaves them to `app.safety.verdicts.Verdicts.put`.
    """

    store_id: str
    version_id: str
    position: str
    content_hmac: str
    outcome: VerdictOutcome
    decided_at: int
    decided_by: str
    reason: str = ""
    findings: tuple[Mapping[str, object], ...] = ()
    fingerprints: tuple[str, ...] = ()
    region: str = ""
    sequence: int = 0

    @property
    def key(self) -> VerdictKey:
        return VerdictKey(self.region, self.store_id, self.version_id, self.sequence)

    @property
    def by_person(self) -> bool:
        """Whether a person decided it, rather than the scanner."""
        return ":" in self.decided_by

    @property
    def rules(self) -> tuple[str, ...]:
        """Every rule that was hit, each once, in the order of the findings."""
        return tuple(dict.fromkeys(str(finding["rule"]) for finding in self.findings))

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> VerdictRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            findings = tuple({"rule": finding["rule"], **finding} for finding in fields["findings"])
            lists = {"findings": findings, "fingerprints": tuple(map(str, fields.get("fingerprints", ())))}
            return cls(**{**known(cls, fields), **lists, "outcome": VerdictOutcome(fields["outcome"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a verdict cannot be read ({error})") from error
