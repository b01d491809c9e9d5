"""Puts the indexer of one region together."""

from __future__ import annotations

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.key_searches import KeySearches
from memolith.app.auth.session_log import SessionLog
from memolith.app.auth.session_trust import SessionTrust
from memolith.app.epochs.parts import EpochParts
from memolith.app.index.transcript_log import TranscriptLog
from memolith.app.indexer.acknowledged_puts import AcknowledgedPuts
from memolith.app.indexer.indexer import Indexer
from memolith.app.indexer.log_entries import LogEntries
from memolith.app.indexer.segment_requests import SegmentRequests
from memolith.app.indexer.text_erasures import TextErasures
from memolith.app.indexer.writer_client import WriterClient
from memolith.app.kernel.region import Region
from memolith.app.pipelines.run_log import RunLog
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.app.proposals.resolution_log import ResolutionLog
from memolith.app.safety.verdicts import Verdicts
from memolith.ports.queue import Queue


def make_indexer(
    region: Region, parts: EpochParts | None = None, inspections: Queue | None = None, packings: Queue | None = None
) -> Indexer:
    """Make an indexer that projects into `region`'s tables. No call.

    What is to be scanned after the commit (`app.safety.deep_scan`) goes to `inspections`, and which store's search
    segment (`app.search.packer`) is behind, to `packings`; where there is no such queue, nowhere.
    """
    parts = parts or EpochParts.of(region)
    sessions = SessionLog(region)
    writer, segments = WriterClient(region), SegmentRequests(region, packings)
    erasures = TextErasures(region, parts.logs, parts.projector, parts.repair, writer)
    entries = LogEntries(
        region,
        parts.logs,
        parts.snapshots,
        parts.projector,
        parts.repair,
        writer,
        erasures,
        segments,
        AcknowledgedPuts(region),
        inspections,
    )
    return Indexer(
        region,
        entries,
        parts.records,
        parts.repair,
        parts.store_repair,
        parts.projector,
        ApiKeys(region, KeySearches(region.clock)),
        sessions,
        SessionTrust(region, sessions),
        Verdicts(region),
        ProposalLog(region),
        ResolutionLog(region),
        RunLog(region),
        writer,
        erasures,
        segments,
        TranscriptLog(region),
    )
