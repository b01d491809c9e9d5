"""What the eraser function does: the one facade over its use cases, for its callers and its schedule."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from memolith.app.erasure.count_removal import CountRemoval
from memolith.app.erasure.deadlines import Deadlines
from memolith.app.erasure.dream_step_removal import DreamStepRemoval
from memolith.app.erasure.eraser import Eraser
from memolith.app.erasure.pack_removal import PackRemoval
from memolith.app.erasure.proposal_erasure import ProposalErasure
from memolith.app.erasure.repair import Repair
from memolith.app.erasure.retention import RetentionCallbacks, RetentionPass
from memolith.app.erasure.status import ErasureStatus
from memolith.app.erasure.store_purge import StorePurge
from memolith.app.erasure.transcript_purge import TranscriptPurge
from memolith.app.erasure.verification import SearchTerms, Verification
from memolith.app.erasure.version_purge import VersionPurge
from memolith.app.index.parts import IndexParts
from memolith.app.kernel.region import Region
from memolith.core.errors import Busy
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.retention import DAY_US
from memolith.ports.objects import ErasableObjects
from memolith.ports.packs import Packs

_log = logging.getLogger(__name__)

CALL_BUDGET_S = 20.0
"""How long a store's first work may hold up the indexer that asked for it; the schedule does the rest."""

SWEEP_BUDGET_S = 240.0
"""How long one sweep goes on before it leaves the rest to the next."""

_DAILY = frozenset(("blanked", "mended", "transcript_parts"))
"""The parts of a sweep that are daily passes: they are left out where the time is up."""


class Erasures:
    """Everything that erases in one region, and what looks whether it did."""

    def __init__(
        self,
        region: Region,
        retaining: RetentionPass,
        eraser: Eraser,
        packs: PackRemoval,
        stores: StorePurge,
        deadlines: Deadlines,
        versions: VersionPurge,
        progress: ErasureStatus,
        remains: Verification,
        repairs: Repair,
        transcripts: TranscriptPurge,
        proposals: ProposalErasure,
        counts: CountRemoval,
        steps: DreamStepRemoval,
    ) -> None:
        self._region = region
        self._retaining = retaining
        self._eraser = eraser
        self._packs = packs
        self._stores = stores
        self._deadlines = deadlines
        self._versions = versions
        self._progress = progress
        self._remains = remains
        self._repairs = repairs
        self._transcripts = transcripts
        self._proposals = proposals
        self._counts = counts
        self._steps = steps

    def erase(self, key: str) -> bool:
        """Erase what an object's key stands for, as `Eraser.erase` does; whether that is done.

        Dreams under way that read the store or write into it lose what they keep, as it may have the text: two LISTs,
        and an index read for each dream of the region that keeps anything.
        """
        erased = self._eraser.erase(key)
        name = parse_key(key)
        if erased and isinstance(name, LogKey):
            self._packs.erase_steps(name.store_id)
            self._steps.erase_of_output(name.store_id)
        return erased

    def erase_dream_steps(self, store_id: str, run_id: str) -> int:
        """Remove what a dream has kept while it was under way; how many objects."""
        return self._packs.erase_steps(store_id, run_id)

    def erase_proposal(self, key: str) -> bool:
        """Erase the texts of a proposal, as `ProposalErasure.erase` does; whether that is done."""
        return self._proposals.erase(key)

    def erase_packs(self, store_id: str) -> int:
        """Remove the packs of a store that no longer count; how many."""
        return self._packs.erase(store_id)

    def erase_transcript(self, workspace_id: str, session_id: str) -> int:
        """Blank the transcript of a session that is to be erased, as `TranscriptPurge.erase` does; how many parts.

        Dreams of the session that are under way lose what they keep, as it may have its words.
        """
        return self._transcripts.erase(workspace_id, session_id)

    def clear_transcript_part(self, key: str) -> bool:
        """Delete what stands below the blank of a part of a transcript, as `TranscriptPurge.clear` does."""
        return self._transcripts.clear(key)

    def erase_store(self, store_id: str) -> bool:
        """Begin to erase a deleted store, and do what a few seconds allow; return whether it is done.

        Of one that can still be restored it is noted when it may be erased, and nothing is erased.

        Raises:
            Unavailable: it is not noted yet; repeat it.
        """
        if self._stores.begin(store_id):
            return self._stores.work(store_id, self._deadline(CALL_BUDGET_S))
        self._deadlines.note(store_id)
        return False

    def sweep(self, budget_s: float = SWEEP_BUDGET_S) -> Mapping[str, Any]:
        """Make deletions final whose time is over; go on with every store that is not done, and with the daily passes.

        These are retention, of versions, counts of uses and transcripts, and the check of older S3 versions. What
        dreams kept that are over is removed in every sweep.

        Repeatable; several may run at once. What fails stops nothing else.

        Raises:
            Exception: the first that a part of the sweep has raised, once every other part has had its turn. The next
            sweep goes on; Unavailable says that a port does not answer.
        """
        deadline_us = self._region.clock.now_us() + round(budget_s * 1_000_000)
        is_time_up = self._deadline(budget_s)
        retaining = RetentionCallbacks(self._eraser.blank, self._take_up, self._counts.run, is_time_up)
        passes: dict[str, Callable[[], int]] = {
            "ended": lambda: self._deadlines.run(is_time_up),
            "pending": lambda: self._finish_all(is_time_up),
            "steps": lambda: self._steps.sweep(is_time_up),
            "blanked": lambda: self._retaining.work(retaining),
            "mended": lambda: self._versions.run(deadline_us).repaired,
            "transcript_parts": lambda: self._transcripts.run(deadline_us).repaired,
        }
        done, failures = dict.fromkeys(passes, 0), list[Exception]()
        for name, run in passes.items():
            if is_time_up() and name in _DAILY:
                continue
            try:
                with suppress(Busy):
                    done[name] = run()
            except Exception as error:  # noqa: BLE001 - raised below
                _log.error("a part of the sweep failed", extra={"pass": name, "reason": str(error)})
                failures.append(error)
        if failures:
            raise failures[0]
        return done

    def _finish_all(self, is_time_up: Callable[[], bool]) -> int:
        """Go on with every store that is not done, and measure how old the oldest is of those that are left, 0 where
        none is; return how many they are."""
        pending = self._stores.pending()
        left = [begun_at for store_id, begun_at in pending.items() if not self._finish(store_id, is_time_up)]
        now_us = self._region.clock.now_us()
        self._region.metrics.milliseconds(
            "erasure_age_ms", max([0, *((now_us - begun_at) / 1_000 for begun_at in left)])
        )
        return len(left)

    def _take_up(self, store_id: str) -> None:
        """Note what is to be done with a deleted store, where the note was lost."""
        if not self._deadlines.note(store_id):
            self._stores.take_up(store_id)

    def _finish(self, store_id: str, is_time_up: Callable[[], bool]) -> bool:
        """Finish one store; its failure does not stop the next store."""
        if is_time_up():
            return False
        try:
            return self._stores.work(store_id, is_time_up)
        except Exception as error:  # noqa: BLE001 - it counts as pending
            _log.warning("a store is not erased yet", extra={"store_id": store_id, "reason": str(error)})
            return False

    def _deadline(self, seconds: float) -> Callable[[], bool]:
        end_us = self._region.clock.now_us() + round(seconds * 1_000_000)
        return lambda: self._region.clock.now_us() >= end_us

    def status(self, store_id: str, id: str) -> Mapping[str, Any]:
        """Tell how far the erasure of a store, or of one version in it, has come (`ErasureStatus.status`)."""
        return self._progress.status(store_id, id)

    def search(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look for texts, paths and hashes that should be gone (`Verification.search`), and tell where they are."""

        def given(name: str) -> tuple[str, ...]:
            values: Sequence[str] = asked.get(name, ())
            return tuple(values)

        needles = SearchTerms(given("texts"), given("paths"), given("hashes"))
        return asdict(self._remains.search(asked["store_id"], needles, asked.get("at")))

    def repair(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look at a page of texts, and repair damaged ones (`Repair.page`)."""
        at: Sequence[str] | None = asked.get("at")
        page = self._repairs.page(
            asked.get("store_id"), None if at is None else (at[0], at[1]), bool(asked.get("look_only"))
        )
        return asdict(page)


def make_erasures(region: Region, erasable: ErasableObjects, packs: Packs, day_us: int = DAY_US) -> Erasures:
    """Put together what erases in a region. No call."""
    parts = IndexParts.of(region)
    retaining = RetentionPass(region, parts.logs, parts.projector, day_us)
    eraser = Eraser(region, erasable, retaining, parts.logs, parts.store_log)
    removal = PackRemoval(region, erasable, parts.store_log)
    proposals = ProposalErasure(region, erasable, parts.store_log)
    steps = DreamStepRemoval(region, removal)
    transcripts = TranscriptPurge(region, erasable, steps, day_us)
    stores = StorePurge(region, erasable, eraser, removal, parts, proposals, transcripts)
    versions = VersionPurge(region, erasable, eraser, stores, transcripts)
    deadlines = Deadlines(region, parts.store_log)
    progress = ErasureStatus(region, erasable, stores, packs, parts)
    remains = Verification(region, erasable, packs)
    repairs = Repair(region, erasable, eraser, packs)
    counts = CountRemoval(region, erasable)
    return Erasures(
        region,
        retaining,
        eraser,
        removal,
        stores,
        deadlines,
        versions,
        progress,
        remains,
        repairs,
        transcripts,
        proposals,
        counts,
        steps,
    )
