"""The S3 keys of all objects, and back from a key to what it names.

Every key begins with the region that wrote it, so that no key is ever written in two regions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memolith.core.log_position import _NUMBER, Epoch, LogKey, Slot, _epoch_number

LOCAL_PREFIX = "local/"
"""Objects of this region alone, outside replication: nothing of them is indexed."""


@dataclass(frozen=True, slots=True)
class StoreKey:
    """The key of one version of a store's own record."""

    store_id: str
    slot: Slot

    def __str__(self) -> str:
        epoch = self.slot.epoch
        return f"{epoch.home}/store/{self.store_id}/{epoch.key_part}.{self.slot.sequence:010d}"


@dataclass(frozen=True, slots=True)
class CutKey:
    """The key of one shard of the tails that an epoch began with.

    `run` tells apart the cuts of two who began the epoch at once; the store's record names the one that counts.
    """

    store_id: str
    epoch: Epoch
    run: str
    shard: int

    def __str__(self) -> str:
        return f"{self.epoch.home}/cut/{self.store_id}/{self.epoch.key_part}/{self.run}/{self.shard:03d}"


@dataclass(frozen=True, slots=True)
class RedactionKey:
    """The key of the order to erase one version everywhere."""

    region: str
    store_id: str
    version_id: str

    def __str__(self) -> str:
        return f"{self.region}/redaction/{self.store_id}/{self.version_id}"


@dataclass(frozen=True, slots=True)
class VerdictKey:
    """The key of one verdict on one version, decided in `region`. Sequences start at 1 for each version."""

    region: str
    store_id: str
    version_id: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.region}/verdict/{self.store_id}/{self.version_id}/{self.sequence:010d}"


@dataclass(frozen=True, slots=True)
class ApiKeyKey:
    """The key of one version of an API key's record, written by `region`."""

    region: str
    workspace_id: str
    key_id: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.region}/key/{self.workspace_id}/{self.key_id}/{self.sequence:010d}"


SESSION_END = 2
"""The sequence of the record that says that a session has ended; each region may have put one."""

SESSION_TRUST_FROM = 9_999_999_900
"""Sequences from here on say that a session was shown a text of a lower class: one for each class, by its rank."""

SESSION_UPDATES_FROM = 5_000_000_000
"""Sequences from here on are changes of a session's title or metadata; below are contexts, until the year 2128."""


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key of one version of a session's record, written by `region`: 1 as it began, 2 once archived.

    Others are contexts that were pinned later; their sequence is the second in which that was done, since 1970. The
    sequence of a change of title or metadata is that second and `SESSION_UPDATES_FROM`, or one above the last change's.
    One that lowered the session's trust class has `SESSION_TRUST_FROM` and the rank of the class.
    """

    region: str
    workspace_id: str
    session_id: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.region}/session/{self.workspace_id}/{self.session_id}/{self.sequence:010d}"

    @property
    def rank(self) -> str:
        """Which of a session's contexts, or changes, is the newest: the greatest. With the id it is the key."""
        return f"{self.sequence:010d}/{self.region}"

    @property
    def is_update(self) -> bool:
        """Whether this version changed the title or the metadata."""
        return SESSION_UPDATES_FROM <= self.sequence < SESSION_TRUST_FROM

    @property
    def is_trust(self) -> bool:
        """Whether this version lowered the session's trust class."""
        return self.sequence >= SESSION_TRUST_FROM


TRANSCRIPT_ERASURE = 9_999_999_999
"""The sequence of the order to erase a session's transcript; its parts are counted from 1."""


@dataclass(frozen=True, slots=True)
class TranscriptKey:
    """The key of one part of a session's transcript, written by `region`; sequences start at 1 for each region.

    The one with the sequence `TRANSCRIPT_ERASURE` is the order to erase all of them, in every region.
    """

    region: str
    workspace_id: str
    session_id: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.prefix(self.region, self.workspace_id, self.session_id)}{self.sequence:010d}"

    @staticmethod
    def prefix(region: str, workspace_id: str, session_id: str) -> str:
        """Return what the keys of all parts of a transcript begin with that `region` wrote."""
        return f"{region}/transcript/{workspace_id}/{session_id}/"

    @property
    def is_erasure(self) -> bool:
        """Whether this is the order to erase the transcript."""
        return self.sequence == TRANSCRIPT_ERASURE


@dataclass(frozen=True, slots=True)
class CheckpointKey:
    """The key of the home's list of what it acknowledged in one period; periods are counted from 1, without holes."""

    home: str
    period: int

    def __str__(self) -> str:
        return f"{self.home}/checkpoint/{self.period:012d}"


@dataclass(frozen=True, slots=True)
class CheckpointPartKey:
    """The key of one part of a long checkpoint. `run` tells apart two attempts, of which the checkpoint names one."""

    home: str
    period: int
    run: str
    number: int

    def __str__(self) -> str:
        return f"{self.home}/checkpoint/{self.period:012d}/{self.run}/{self.number:05d}"


@dataclass(frozen=True, slots=True)
class JobKey:
    """The key of one record of a job of a store, written by its `home`; sequences go on when the store moves."""

    home: str
    store_id: str
    kind: str
    job_key: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.prefix(self.home, self.store_id, self.kind, self.job_key)}{self.sequence:010d}"

    @staticmethod
    def prefix(home: str, store_id: str, kind: str, job_key: str) -> str:
        """Return what the keys of all records of a job begin with that `home` wrote."""
        return f"{home}/job/{store_id}/{kind}/{job_key}/"


@dataclass(frozen=True, slots=True)
class ProposalKey:
    """The key of one record of a proposal, written by `home`; `memolith.core.objects.proposal_record` numbers them."""

    home: str
    store_id: str
    proposal_id: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.home}/proposal/{self.store_id}/{self.proposal_id}/{self.sequence:010d}"


@dataclass(frozen=True, slots=True)
class RunKey:
    """The key of one record of a dream, written by the `home` of the store that it reads. Sequences start at 1."""

    home: str
    store_id: str
    run_id: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.home}/run/{self.store_id}/{self.run_id}/{self.sequence:010d}"


@dataclass(frozen=True, slots=True)
class ResolutionKey:
    """The key of the decision about one conflict, written by the store's `home`."""

    home: str
    store_id: str
    conflict_id: str

    def __str__(self) -> str:
        return f"{self.home}/resolution/{self.store_id}/{self.conflict_id}"


ObjectKey = (
    LogKey
    | StoreKey
    | CutKey
    | RedactionKey
    | VerdictKey
    | ApiKeyKey
    | SessionKey
    | JobKey
    | TranscriptKey
    | RunKey
    | CheckpointKey
    | CheckpointPartKey
    | ProposalKey
    | ResolutionKey
)


WITHOUT_ROWS = (CutKey, CheckpointKey, CheckpointPartKey, JobKey)
"""The kinds of object of which no rows are made, beside those below `LOCAL_PREFIX`."""

_LOG = re.compile(rf"([a-z0-9-]+)/log/([^/]+)/([0-9a-f]{{64}})/{_NUMBER}-(\d+)\.(\d{{10}})")
_STORE = re.compile(rf"([a-z0-9-]+)/store/([^/]+)/{_NUMBER}-(\d+)\.(\d{{10}})")
_CUT = re.compile(rf"([a-z0-9-]+)/cut/([^/]+)/{_NUMBER}-(\d+)/([^/]+)/(\d{{3}})")
_REDACTION = re.compile(r"([a-z0-9-]+)/redaction/([^/]+)/([^/]+)")
_VERDICT = re.compile(r"([a-z0-9-]+)/verdict/([^/]+)/([^/]+)/(\d{10})")
_KEY = re.compile(r"([a-z0-9-]+)/key/([^/]+)/([^/]+)/(\d{10})")
_CHECKPOINT = re.compile(r"([a-z0-9-]+)/checkpoint/(\d{12})")
_PART = re.compile(r"([a-z0-9-]+)/checkpoint/(\d{12})/([^/]+)/(\d{5})")
_SESSION = re.compile(r"([a-z0-9-]+)/session/([^/]+)/([^/]+)/(\d{10})")
_RUN = re.compile(r"([a-z0-9-]+)/run/([^/]+)/([^/]+)/(\d{10})")
_JOB = re.compile(r"([a-z0-9-]+)/job/([^/]+)/([a-z]+)/([^/]+)/(\d{10})")
_TRANSCRIPT = re.compile(r"([a-z0-9-]+)/transcript/([^/]+)/([^/]+)/(\d{10})")
_PROPOSAL = re.compile(r"([a-z0-9-]+)/proposal/([^/]+)/([^/]+)/(\d{10})")
_RESOLUTION = re.compile(r"([a-z0-9-]+)/resolution/([^/]+)/([^/]+)")


def parse_key(key: str) -> ObjectKey:
    """Parse an object key. Raises ValueError for a key that is not Memolith's."""
    if match := _LOG.fullmatch(key):
        return LogKey(match[2], match[3], Slot(Epoch(_epoch_number(match[4]), match[1], int(match[5])), int(match[6])))
    if match := _STORE.fullmatch(key):
        return StoreKey(match[2], Slot(Epoch(_epoch_number(match[3]), match[1], int(match[4])), int(match[5])))
    if match := _CUT.fullmatch(key):
        return CutKey(match[2], Epoch(_epoch_number(match[3]), match[1], int(match[4])), match[5], int(match[6]))
    if match := _REDACTION.fullmatch(key):
        return RedactionKey(match[1], match[2], match[3])
    if match := _VERDICT.fullmatch(key):
        return VerdictKey(match[1], match[2], match[3], int(match[4]))
    if match := _KEY.fullmatch(key):
        return ApiKeyKey(match[1], match[2], match[3], int(match[4]))
    if match := _SESSION.fullmatch(key):
        return SessionKey(match[1], match[2], match[3], int(match[4]))
    if match := _RUN.fullmatch(key):
        return RunKey(match[1], match[2], match[3], int(match[4]))
    if match := _JOB.fullmatch(key):
        return JobKey(match[1], match[2], match[3], match[4], int(match[5]))
    if match := _TRANSCRIPT.fullmatch(key):
        return TranscriptKey(match[1], match[2], match[3], int(match[4]))
    if match := _PROPOSAL.fullmatch(key):
        return ProposalKey(match[1], match[2], match[3], int(match[4]))
    if match := _RESOLUTION.fullmatch(key):
        return ResolutionKey(match[1], match[2], match[3])
    if match := _CHECKPOINT.fullmatch(key):
        return CheckpointKey(match[1], int(match[2]))
    if match := _PART.fullmatch(key):
        return CheckpointPartKey(match[1], int(match[2]), match[3], int(match[4]))
    raise ValueError(f"not a key of Memolith: {key!r}")


def parsed_key(key: str) -> ObjectKey | None:
    """Return a key's parts; None for no key that this release knows, where a caller has nothing to do with such."""
    try:
        return parse_key(key)
    except ValueError:
        return None


def is_projected(key: str) -> bool:
    """Tell whether rows are made of an object of this key."""
    return not key.startswith(LOCAL_PREFIX) and not isinstance(parsed_key(key), WITHOUT_ROWS)


def own_log_key(key: str, region: str) -> LogKey | None:
    """Return the key of an entry that `region` wrote as a home; None for any other text."""
    name = parsed_key(key)
    return name if isinstance(name, LogKey) and name.slot.epoch.home == region else None
