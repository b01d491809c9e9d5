"""Once an hour: a share of what this home acknowledged, beside what is in its bucket, round after round.

So what is rewritten is found though no one reads it or audits. What is wrong is counted and logged by its key;
`memolith audit verify` then says what was done. Nothing is changed. What no checkpoint names, the witnesses, and
records other than versions, a share leaves to that command; so it does what a key signed that is not known here any
more, as one that was replaced: it says how many checkpoints those are.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memolith.app.kernel.port_calls import commit_or_busy
from memolith.app.kernel.region import Region, View
from memolith.app.log.sealed_history import SealedHistory, StoredCheckpoint
from memolith.app.operations.named_objects import Compared, NamedObjects
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parsed_key
from memolith.core.rows.control import ReconcileRow
from memolith.core.rows.journal import JournalStateRow
from memolith.core.times import is_due
from memolith.ports.index import Change

EVERY_US = 3_600_000_000
VERSIONS_MAX = 1_000
"""In an hour: a home that acknowledges fewer is read from end to end again and again, within 730,000 GETs a month."""
PERIODS_MAX = 240
"""In an hour, in which 60 begin: so the round of a year's periods takes four months, and of a month's ten days."""
LOGGED_MAX = 20

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Share:
    """One share while it is made: the period that is next, how many of its versions were compared, what was seen."""

    period: int
    skip: int
    seen: Compared = field(default_factory=Compared)
    unknown_keys: dict[str, list[str]] = field(default_factory=dict)
    """Of each key that is not known here, the checkpoints that it signed."""

    @property
    def wrong(self) -> list[str]:
        """The keys of what is not as it was acknowledged."""
        return [finding.key for finding in self.seen.findings] + [broken.name.key for broken in self.seen.broken]


class RotatingAudit:
    """Audits one home in hourly shares; where the next one begins is a row of the control table."""

    def __init__(self, region: Region, history: SealedHistory, objects: NamedObjects) -> None:
        self._region = region
        self._history = history
        self._objects = objects
        self._began_us: int | None = None

    def run(self, deadline_us: int) -> None:
        """Audit the next share, if the last one began an hour ago; nothing, and no call, where this process knows.

        A read and two writes of the control table, a GET of each checkpoint and version, a read of the versions' stores
        for each checkpoint. The deadline is looked at between two checkpoints. A share that fails is looked at again
        an hour later.

        Raises:
            Busy: another reconciler is at it. Unavailable, OutcomeUnknown: the next hour goes on.
        """
        now_us = self._region.clock.now_us()
        if not is_due(self._began_us, now_us, EVERY_US):
            return
        key, state_key = ReconcileRow.key_of("integrity"), JournalStateRow.key(self._region.name)
        rows = self._region.read(self._region.index, [key, state_key])
        attributes = rows.get(key)
        row = ReconcileRow() if attributes is None else ReconcileRow.from_attributes(attributes)
        if not is_due(row.began_at, now_us, EVERY_US):
            self._began_us = row.began_at
            return
        if state_key not in rows:
            return
        state = JournalStateRow.from_attributes(rows[state_key])
        begun = replace(row, began_at=now_us).to_attributes()
        self._note(Change(key, attributes, begun))
        self._began_us = now_us
        last = (state.open if state.closing is None else state.closing) - 1
        share = self._audit(row.after, last, deadline_us)
        self._report(share.wrong)
        self._report_unknown(share.unknown_keys)
        after = None if share.period > last else f"{share.period}/{share.skip}"
        self._note(Change(key, begun, replace(row, began_at=now_us, after=after).to_attributes()))

    def _audit(self, after: str | None, last: int, deadline_us: int) -> _Share:
        view, home = self._region.view(), self._region.name
        view.require_complete()
        period, _, skip = (after or "1/0").partition("/")
        share = _Share(int(period), int(skip))
        for read in self._history.read(home, share.period, min(last, share.period + PERIODS_MAX - 1)):
            if not isinstance(read, StoredCheckpoint):
                share.seen.findings.append(read)
            elif not self._compare(view, share, read):
                break
            share.period, share.skip = share.period + 1, 0
            if self._region.clock.now_us() > deadline_us:
                break
        return share

    def _compare(self, view: View, share: _Share, read: StoredCheckpoint) -> bool:
        """Compare a checkpoint, and its versions as far as the share reaches; tell whether that is all of them."""
        versions = [name for name in read.names if isinstance(parsed_key(name.key), LogKey)]
        some = versions[share.skip :][: VERSIONS_MAX - share.seen.looked_at]
        if share.skip == 0:
            share.seen.findings += read.findings
            if read.unknown_key is not None:
                share.unknown_keys.setdefault(read.unknown_key, []).append(str(read.checkpoint.key))
        self._objects.compare(view, share.seen, read.checkpoint.period, some)
        share.skip += len(some)
        return share.skip >= len(versions)

    def _note(self, change: Change) -> None:
        commit_or_busy(self._region.index, [change], "another reconciler audits this home")

    def _report(self, wrong: list[str]) -> None:
        if wrong:
            self._region.metrics.count("integrity_broken", len(wrong))
        for key in wrong[:LOGGED_MAX]:
            hint = "memolith audit verify says what was done to it"
            _log.error("an object is not what was acknowledged", extra={"key": key, "hint": hint})

    def _report_unknown(self, signed: Mapping[str, list[str]]) -> None:
        """Count the keys that are not known here, and log of each how many checkpoints it signed, and the first."""
        if signed:
            self._region.metrics.count("seal_key_unknown", len(signed))
        for key_id, keys in signed.items():
            hint = "the key was replaced; memolith audit verify --keys checks what it signed"
            found = {"key": keys[0], "key_id": key_id, "checkpoints": len(keys), "hint": hint}
            _log.warning("checkpoints are signed by a key that is not known here", extra=found)
