"""The API of one region: the record of its use cases, and the one place where they are put together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from memolith.app.api.divergent import Divergent
from memolith.app.api.forwarded_reads import ForwardedReads
from memolith.app.api.history_import import HistoryImport
from memolith.app.api.linearizable_reads import LinearizableReads
from memolith.app.api.peer_requests import PeerRequests
from memolith.app.api.proposal_decisions import ProposalDecisions
from memolith.app.api.proposal_drafts import ProposalDrafts
from memolith.app.api.proposal_views import ProposalViews
from memolith.app.api.proposal_writes import ProposalWrites
from memolith.app.api.quarantine import Quarantine
from memolith.app.api.redaction import Redactions
from memolith.app.api.reviewed_memories import ReviewedMemories
from memolith.app.api.session_context import SessionContexts
from memolith.app.api.session_parts import SessionParts
from memolith.app.api.sessions import Sessions
from memolith.app.api.snapshots import Snapshots
from memolith.app.api.stores import Stores
from memolith.app.api.transcripts import Transcripts
from memolith.app.api.versions import Versions
from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.authorizer import Authorizer, StoreAccess
from memolith.app.auth.key_rates import KeyRates
from memolith.app.auth.key_searches import KeySearches
from memolith.app.auth.session_access import SessionAccess
from memolith.app.auth.session_log import SessionLog
from memolith.app.auth.session_tokens import NO_SIGNING_KEYS, SessionTokens
from memolith.app.auth.session_trust import SessionTrust
from memolith.app.commit.adoption import Adoption
from memolith.app.commit.forwarding import Forwarding
from memolith.app.commit.late_records import LateRecords
from memolith.app.commit.parts import WriterParts
from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.commit.writer import Writer
from memolith.app.epochs.fence import Fence
from memolith.app.epochs.parts import EpochParts
from memolith.app.index.path_listing import PathListing
from memolith.app.index.transcript_log import TranscriptLog
from memolith.app.index.version_history import VersionHistory
from memolith.app.kernel.no_models import NO_MODELS
from memolith.app.kernel.no_packs import NO_PACKS
from memolith.app.kernel.no_seals import NO_SEALING
from memolith.app.kernel.proposal_results import Proposal
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext
from memolith.app.pipelines.job_log import JobLog
from memolith.app.pipelines.run_log import RunLog
from memolith.app.pipelines.token_budgets import TokenBudgets
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.app.safety.text_access import TextReader
from memolith.app.safety.transcript_gate import TranscriptGate
from memolith.app.safety.verdicts import Verdicts
from memolith.app.safety.write_gate import TextScanner
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.base import mark_key
from memolith.core.tables import TABLES
from memolith.ports.model import Models
from memolith.ports.packs import Packs
from memolith.ports.rerank import Reranker
from memolith.ports.sealing import Sealing
from memolith.ports.signing import SigningKeys

if TYPE_CHECKING:
    from memolith.app.api.activity import RecentActivity
    from memolith.app.api.automatic import AutomaticPipelines
    from memolith.app.api.bulk_read import BulkRead
    from memolith.app.api.conflict_resolution import ConflictResolutions
    from memolith.app.api.conflicts import ConflictList
    from memolith.app.api.disputes import Disputes
    from memolith.app.api.dream_changes import DreamReversals
    from memolith.app.api.dream_runner import DreamRunner
    from memolith.app.api.dreams import Dreams
    from memolith.app.api.extraction import Extractions
    from memolith.app.api.graph import Graph
    from memolith.app.api.keys import Keys
    from memolith.app.api.proofs import VersionProofs
    from memolith.app.api.proposals import Proposals
    from memolith.app.api.recall import Recall
    from memolith.app.api.remarks import Remarks
    from memolith.app.api.search import Search
    from memolith.app.api.transcript_search import TranscriptSearch
    from memolith.app.api.usage import MemoryUses
    from memolith.app.pipelines.usage_log import UsageLog
    from memolith.app.search.pack_cache import PackCache
    from memolith.app.search.packs import Heads

_MARKS = tuple(mark_key(table.name) for table in TABLES if table.generational)


class Memolith:
    """The use cases of one region, over helpers of which each is built once. They raise `core.errors` only.

    What is a cached property, such as `search`, is imported with the first call that needs it, and not with a start.
    """

    def __init__(
        self,
        region: Region,
        scanner: TextScanner,
        signing: SigningKeys = NO_SIGNING_KEYS,
        packs: Packs = NO_PACKS,
        models: Models = NO_MODELS,
        reranker: Reranker | None = None,
        sealing: Sealing = NO_SEALING,
        *,
        dreams: bool | None = None,
    ) -> None:
        """Put them together. `dreams`: whether the deployment has what does dreams; by default where it has models."""
        self._region, self._packs, self._scanner, self._models = region, packs, scanner, models
        self._dreams = models is not NO_MODELS if dreams is None else dreams
        self._sealing = sealing
        epochs = EpochParts.of(region)
        snapshots, logs, projector, records = epochs.snapshots, epochs.logs, epochs.projector, epochs.records
        self._fence = fence = Fence(region, records)
        second = SyncReplica(region, logs, snapshots)
        self._verdicts = verdicts = Verdicts(region)
        self._texts = texts = TextReader(region, verdicts)
        history, late_records = VersionHistory(region), LateRecords(region, records, second)
        self._projector, self._forwarding = projector, (forwarding := Forwarding(region, epochs))
        self._reads = reads = ForwardedReads(forwarding)
        linearizable_reads = LinearizableReads(region, logs, records, fence, snapshots)

        writer = Writer(region, scanner, WriterParts.of(region, epochs, second, fence, verdicts))
        adoption = Adoption(region, writer, logs, late_records)

        self.api_keys = keys = ApiKeys(region, KeySearches(region.clock))
        self._authorizer = authorizer = Authorizer(region, keys, SessionLog(region), records, KeyRates(region.clock))
        self.stores = Stores(region, authorizer, forwarding, reads, scanner, records, linearizable_reads, second)
        self.memories = ReviewedMemories(
            self._open_proposal,
            region,
            authorizer,
            writer,
            forwarding,
            reads,
            texts,
            linearizable_reads,
            records,
            PathListing(region),
        )
        self.snapshots = Snapshots(region, authorizer, reads, history, texts)
        self.versions = Versions(region, authorizer, reads, history, texts, linearizable_reads)
        self._proposal_log = proposal_log = ProposalLog(region)
        drafts = ProposalDrafts(region, proposal_log, scanner, verdicts, texts)
        writes = ProposalWrites(region, self.memories, texts, epochs.repair, adoption)
        self.proposal_decisions = decisions = ProposalDecisions(region, fence, proposal_log, drafts, writes)
        self.redactions = Redactions(
            region, authorizer, writer, epochs.repair, fence, forwarding, projector, second, proposal_log, decisions
        )
        self.imports = HistoryImport(
            region, authorizer, scanner, writer, self.redactions, forwarding, verdicts, projector
        )
        self.quarantine = Quarantine(region, authorizer, self.memories, forwarding, verdicts, history, texts, fence)
        self.divergent = Divergent(region, authorizer, self.memories, self.redactions, forwarding, texts)
        contexts = SessionContexts(region, authorizer, texts, verdicts, history)
        self._make_sessions(scanner, SessionTokens(signing, region.clock), contexts)
        self._logs, self._reranker = logs, reranker
        self.peer_requests = PeerRequests(region, logs, records, writer, adoption, late_records)

    def _make_sessions(self, scanner: TextScanner, tokens: SessionTokens, contexts: SessionContexts) -> None:
        region, authorizer, log = self._region, self._authorizer, SessionLog(self._region)
        self._session_access = access = SessionAccess(region, authorizer, log)
        self.session_trust, parts = (trust := SessionTrust(region, log)), SessionParts(access)
        self.transcripts = transcripts = Transcripts(region, access, TranscriptLog(region), TranscriptGate(scanner))
        self.sessions = Sessions(region, authorizer, tokens, log, contexts, trust, access, transcripts, parts)

    @property
    def region(self) -> str:
        """The name of the region that answers."""
        return self._region.name

    def _open_proposal(self, access: StoreAccess, edit: EditRequest) -> Proposal:
        return self.proposals.stage(access, edit)

    @cached_property
    def keys(self) -> Keys:
        from memolith.app.api.keys import Keys

        return Keys(self._region, self._authorizer, self.api_keys)

    @cached_property
    def dreams(self) -> Dreams:
        from memolith.app.api.dreams import Dreams

        runs, forwarding, fence = RunLog(self._region), self._forwarding, self._fence
        return Dreams(self._region, self._authorizer, self.stores, self.sessions, runs, forwarding, fence, self._dreams)

    @cached_property
    def dream_reversals(self) -> DreamReversals:
        from memolith.app.api.dream_changes import DreamReversals

        return DreamReversals(self._authorizer, self.dreams, self.versions, self.memories, self.proposals)

    def dream_runner(self, lease_us: int) -> DreamRunner:
        """Make what does dreams, in a process that has models; one that is killed has its dream for `lease_us` more."""
        from memolith.app.api.dream_edits import DreamEdits
        from memolith.app.api.dream_memories import DreamMemories
        from memolith.app.api.dream_runner import DreamRunner
        from memolith.app.api.dream_sessions import DreamSessions
        from memolith.app.pipelines.dream_steps import DreamSteps

        if self._models is NO_MODELS:
            raise LookupError("this process has no models")
        return DreamRunner(
            self._region,
            self._authorizer,
            DreamMemories(self.memories, self.versions),
            DreamEdits(self._region, self.memories, self.proposals),
            DreamSteps(self._region),
            DreamSessions(self.transcripts),
            self.session_trust,
            RunLog(self._region),
            JobLog(self._region, lease_us),
            self._models,
            self._fence,
            TokenBudgets(self._region),
        )

    @cached_property
    def remarks(self) -> Remarks:
        from memolith.app.api.remarks import Remarks

        return Remarks(self._region, self._authorizer, self.memories)

    @cached_property
    def automatic(self) -> AutomaticPipelines:
        """What pipelines do by themselves, in a process that has models."""
        from memolith.app.api.automatic import AutomaticPipelines
        from memolith.app.api.usage import UsageCounts

        region = self._region
        log, runs, jobs = TranscriptLog(region), RunLog(region), JobLog(region)
        return AutomaticPipelines(
            region,
            self._authorizer,
            SessionLog(region),
            log,
            self.extractions,
            self.dreams,
            runs,
            jobs,
            UsageCounts(region, log, self._usage_log),
        )

    @cached_property
    def usage(self) -> MemoryUses:
        from memolith.app.api.usage import MemoryUses

        region = self._region
        return MemoryUses(region, self._authorizer, self.transcripts, PathListing(region), self._usage_log)

    @cached_property
    def _usage_log(self) -> UsageLog:
        """What this process knows of the counts of uses."""
        from memolith.app.pipelines.usage_log import UsageLog

        return UsageLog(self._region)

    @cached_property
    def proofs(self) -> VersionProofs:
        from memolith.app.api.proofs import VersionProofs

        return VersionProofs(self._region, self._authorizer, self._sealing)

    @cached_property
    def proposals(self) -> Proposals:
        from memolith.app.api.proposals import Proposals

        views = ProposalViews(self._region, self._proposal_log, self._texts, self._verdicts)
        return Proposals(
            self._region, self._authorizer, self._forwarding, self._proposal_log, self.proposal_decisions, views
        )

    @cached_property
    def extractions(self) -> Extractions:
        from memolith.app.api.extraction import LEASE_US, Extractions

        return Extractions(
            self._region,
            self._authorizer,
            self._session_access,
            self.transcripts,
            self.proposals,
            self._scanner,
            self._models,
            JobLog(self._region, LEASE_US),
            TokenBudgets(self._region),
        )

    @cached_property
    def search(self) -> Search:
        from memolith.app.api.past_search import FormerTexts, PastSearch
        from memolith.app.api.search import Search

        return Search(
            self._region,
            self._authorizer,
            self._reads,
            self._pack_cache,
            self._packs,
            self._verdicts,
            self._texts,
            PastSearch(FormerTexts(self.snapshots, self._heads), self._packs),
            self._disputes,
            self._reranker,
        )

    @cached_property
    def transcript_search(self) -> TranscriptSearch:
        from memolith.app.api.transcript_search import TranscriptSearch

        records, log = SessionLog(self._region), TranscriptLog(self._region)
        return TranscriptSearch(self._region, self._authorizer, self._session_access, records, log, self._packs)

    @cached_property
    def bulk_read(self) -> BulkRead:
        from memolith.app.api.bulk_read import BulkRead

        return BulkRead(self._region, self._authorizer, self._reads, self._pack_cache, self._verdicts, self._texts)

    @cached_property
    def graph(self) -> Graph:
        from memolith.app.api.graph import Graph
        from memolith.app.api.past_packs import PastPacks
        from memolith.app.api.past_search import FormerTexts

        past = PastPacks(self._pack_cache, FormerTexts(self.snapshots, self._heads))
        cache, disputes = self._pack_cache, self._disputes
        return Graph(self._region, self._authorizer, self._reads, cache, self._heads, self._logs, past, disputes)

    @cached_property
    def activity(self) -> RecentActivity:
        from memolith.app.api.activity import RecentActivity

        return RecentActivity(self._region, self._authorizer, self._reads, VersionHistory(self._region))

    @cached_property
    def conflicts(self) -> ConflictList:
        from memolith.app.api.conflicts import ConflictList

        return ConflictList(self._region, self._authorizer, self._reads, self._pack_cache, self._heads)

    @cached_property
    def conflict_resolutions(self) -> ConflictResolutions:
        from memolith.app.api.conflict_resolution import ConflictResolutions
        from memolith.app.proposals.resolution_log import ResolutionLog

        region, forwarding, log = self._region, self._forwarding, ResolutionLog(self._region)
        return ConflictResolutions(region, self._authorizer, forwarding, self._fence, log, self._heads, self._texts)

    @cached_property
    def _disputes(self) -> Disputes:
        from memolith.app.api.disputes import Disputes

        return Disputes(self._region, self._pack_cache, self._heads)

    @cached_property
    def recall(self) -> Recall:
        from memolith.app.api.recall import Recall

        cache, heads, usage, disputes = self._pack_cache, self._heads, self._usage_log, self._disputes
        clock = self._region.clock
        return Recall(self._authorizer, self._reads, cache, self._packs, heads, usage, disputes, clock)

    @cached_property
    def _heads(self) -> Heads:
        from memolith.app.search.packs import Heads

        return Heads(self._region, self._packs, self._texts, self._verdicts)

    @cached_property
    def _pack_cache(self) -> PackCache:
        """The packs that this process holds."""
        from memolith.app.search.pack_cache import PackCache
        from memolith.app.search.packs import KeptPacks

        return PackCache(self._region, self._packs, KeptPacks(self._region, self._packs), self._heads)

    def admit(self, call: RequestContext, named: Sequence[str] = ()) -> None:
        """See `Authorizer.admit`."""
        self._authorizer.admit(call, named)

    def check_health(self) -> None:
        """Return if callers should come here. One index read, of a row in each table.

        Raises:
            Unavailable: a table does not answer, or they do not hold everything that this region's bucket does.
        """
        self._region.view(_MARKS).require_complete()
