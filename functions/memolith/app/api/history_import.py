"""Histories that are brought in from another store: versions with the ids, times and actors that they had there.

Each version is an ordinary conditional put in a log of this store, one after the other: slots and path hashes are new,
because they belong to the home and its salt. A call that is repeated finds its own version ids and goes on. What is
brought in is marked: its time and its actor are as an admin's call supplied them.

**A text that the scanner refuses is put and withheld**, verdict first, since leaving it out would tear the history; a
path that it refuses cannot be withheld, and is refused. Erased versions arrive blank. A memory whose first versions are
blank begins in a log of its own, which no path has, and moves to the first path that is known.

**A version that is here with its text, and was redacted since where it comes from, is redacted here once it is
superseded**, by a later version of the call at the latest: the head of a live memory would take the memory with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from memolith.app.api.redaction import Redactions
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.commit.forwarding import Forwarding
from memolith.app.commit.writer import Writer
from memolith.app.epochs.fence import stored_record
from memolith.app.index.projector import Projector
from memolith.app.kernel.peer_messages import decode_resolved, encode_resolved
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import RequestContext
from memolith.app.safety.verdicts import SCANNER, Verdicts
from memolith.app.safety.write_gate import TextScanner, finding_to_json, read
from memolith.core.commands import ImportedVersion, ImportVersion, version_ids
from memolith.core.decide import sha256_hex
from memolith.core.errors import (
    Busy,
    InvalidRequest,
    MemolithError,
    NotFound,
    PathConflict,
    Unavailable,
    in_doubt,
    unindexed,
)
from memolith.core.limits import CONTENT_MAX_BYTES, IMPORT_AHEAD_MAX_US, IMPORT_MAX_VERSIONS
from memolith.core.objects.entry import Operation
from memolith.core.objects.redaction_order import Redaction
from memolith.core.objects.store_record import StoreState
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.paths import check_path, path_hash
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.trust import least
from memolith.scanner import Finding, Verdict

Status = Literal["imported", "known", "waiting", "refused"]

REPEAT = "repeat the call: what is here already is not imported again"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of one version.

    Attributes:
        status: ``imported``; ``known``: it was here; ``waiting``: an earlier version of its memory was refused in this
            call; ``refused``: as `reason` says. A path that is taken may become free by other versions.
        withheld_rules: the rules for which its text is withheld.
        redacted: the kinds of the secrets that were taken out of its text, one for each.
    """

    version_id: str
    memory_id: str
    status: Status
    reason: str = ""
    path_taken: bool = False
    withheld_rules: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _ToGive:
    """An order, the version that it is for, and where that is among the results; its row, if it was here before."""

    order: Redaction
    version: ImportedVersion
    place: int
    known: VersionRow | None


@dataclass(slots=True)
class _Imported:
    """What a call has done so far, all that another region is to fold, and orders kept for versions that are heads."""

    results: list[ImportResult] = field(default_factory=list)
    resolved: list[ResolvedEntry] = field(default_factory=list)
    orders: list[Redaction] = field(default_factory=list)
    kept: list[_ToGive] = field(default_factory=list)
    verdicts: list[VerdictRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Scanned:
    """What the scanner says of a version that is brought in: its flags, a withholding's findings, and secrets that are
    not in the version's text any more.
    """

    version: ImportedVersion
    flags: tuple[str, ...] = ()
    findings: tuple[Mapping[str, object], ...] = ()
    reason: str = ""
    redacted: tuple[str, ...] = ()

    @property
    def withheld(self) -> bool:
        return bool(self.reason)


class HistoryImport:
    """The use case of histories from elsewhere."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        scanner: TextScanner,
        writer: Writer,
        redactions: Redactions,
        forwarding: Forwarding,
        verdicts: Verdicts,
        projector: Projector,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._scanner = scanner
        self._redactions = redactions
        self._forwarding = forwarding
        self._writer = writer
        self._verdicts = verdicts
        self._projector = projector

    def import_versions(
        self, call: RequestContext, store_id: str, versions: Sequence[ImportedVersion]
    ) -> list[ImportResult]:
        """Import versions, in this order, each after those of its memory that are here. Repeatable.

        None is more trusted than what the caller writes, nor, unless that is a person, than the text that it replaces.

        A version costs an index read and what a write of its kind costs; one that is withheld a verdict besides, one
        that was redacted an order. A refused version stops only its own memory. One that is here already and is to be
        redacted costs a read more, and is refused if it is still the head of a live memory after the call.

        Raises:
            InvalidRequest: a version that no store can have had; nothing was done. NotFound: no such store.
            Busy, Unavailable: none was imported or redacted. OutcomeUnknown: some were; repeat the call.
            Unauthenticated, PermissionDenied.
        """
        access = self._authorizer.enter_store(call, Scope.admin, store_id)
        self._check(versions)
        versions = [replace(version, trust=least([version.trust], access.trust)) for version in versions]
        payload = {"call": "import", "store_id": store_id, "versions": [asdict(version) for version in versions]}
        store, answer = self._forwarding.reach(access.view, access.store, payload)
        if answer is None:
            return self._at_home(store, versions).results
        try:
            self._project(access.view, store, answer)
        except Unavailable as error:
            raise unindexed("the store's home imported these versions", error, REPEAT) from error
        return [_decoded(row) for row in answer["results"]]

    def _project(self, view: View, store: StoreRow, answer: Mapping[str, Any]) -> None:
        """Project here what the home did. Raises Unavailable."""
        self._forwarding.fold(view, store, decode_resolved(answer["settled"]))
        for text in answer["orders"]:
            self._projector.fold_redaction(view, Redaction.from_json(text.encode()), unseen=True)
        for text in answer["verdicts"]:
            self._verdicts.fold(view, VerdictRecord.from_json(text.encode()))

    def import_at_home(self, store: StoreRow, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Import for a call that landed in another region; return what it has to project, too.

        Raises as `import_versions`.
        """
        imported = self._at_home(store, [ImportedVersion.from_payload(one) for one in payload["versions"]])
        return {
            "results": [asdict(one) for one in imported.results],
            "settled": encode_resolved(imported.resolved),
            "orders": [order.to_json().decode() for order in imported.orders],
            "verdicts": [verdict.to_json().decode() for verdict in imported.verdicts],
        }

    def _check(self, versions: Sequence[ImportedVersion]) -> None:
        if len(versions) > IMPORT_MAX_VERSIONS:
            raise InvalidRequest("versions", f"must be at most {IMPORT_MAX_VERSIONS}")
        latest_us = self._region.clock.now_us() + IMPORT_AHEAD_MAX_US
        for number, version in enumerate(versions):
            field = f"versions.{number}"
            if version.created_at > latest_us:
                raise InvalidRequest(f"{field}.created_at", "lies more than a day ahead")
            if (version.redacted_at or 0) > latest_us:
                raise InvalidRequest(f"{field}.redacted_at", "lies more than a day ahead")
            if version.path is not None:
                check_path(version.path, f"{field}.path")
            if version.content is None:
                continue
            if version.operation == Operation.DELETED or version.redacted_at is not None:
                raise InvalidRequest(f"{field}.content", "must be null for a deletion, or what was redacted")
            if version.path is None:
                raise InvalidRequest(f"{field}.path", "must be given with content")
            if len(version.content.encode()) > CONTENT_MAX_BYTES:
                raise InvalidRequest(f"{field}.content", f"must be at most {CONTENT_MAX_BYTES} bytes of UTF-8")

    # ---- at home ------------------------------------------------------------------------------------------------

    def _at_home(self, store: StoreRow, versions: Sequence[ImportedVersion]) -> _Imported:
        imported = _Imported()
        try:
            self._each(store, versions, imported)
            self._give_kept(store, imported)
        except (Busy, Unavailable) as error:
            if not imported.orders and not any(one.status == "imported" for one in imported.results):
                raise
            raise in_doubt("some of these versions were imported or redacted", error, REPEAT) from error
        return imported

    def _each(self, store: StoreRow, versions: Sequence[ImportedVersion], imported: _Imported) -> None:
        stopped: set[str] = set()
        for version in versions:
            if version.memory_id in stopped:
                imported.results.append(ImportResult(version.version_id, version.memory_id, "waiting"))
                continue
            try:
                result = self._one(store, version, imported)
            except (InvalidRequest, NotFound, PathConflict) as error:
                result = _refused(version, error)
            imported.results.append(result)
            if result.status == "refused":
                stopped.add(version.memory_id)

    def _one(self, store: StoreRow, version: ImportedVersion, imported: _Imported) -> ImportResult:
        command = ImportVersion(store.store_id, version)
        store_id, names = store.store_id, version_ids(command)
        keys = [VersionRow.key(store_id, name) for name in names]
        began_us = self._region.clock.now_us()
        view = self._region.view(
            [StoreRow.key(store_id), MemoryRow.key(store_id, version.memory_id), *keys], marked=["memories"]
        )
        store = self._now(view, store)
        known = next((row for row in (_row(view, key) for key in keys) if row is not None), None)
        if known is not None and known.memory_id != version.memory_id:
            raise InvalidRequest("versions", f"{version.version_id} is a version of another memory here")
        scanned = _Scanned(version) if version.content is None else self._scan(store, version)
        command = ImportVersion(store.store_id, scanned.version)
        if scanned.withheld:
            imported.verdicts.append(self._verdicts.put(self._withholding(store, scanned)))
        done = self._writer.done(view, store, command)
        stored: VersionRow | MemoryRow | None = done
        if done is not None:
            self._writer.answer_for(view, store, done.ref)
        else:
            outcome = self._writer.commit(view, store, command, scanned.flags, began_us)
            imported.resolved += outcome.resolved
            if outcome.error is not None:
                raise outcome.error
            stored = outcome.memory
        is_redacted = known is not None and known.redacted_at is not None
        if stored is not None and version.redacted_at is not None and not is_redacted:
            by = version.redacted_by or version.actor
            order = Redaction(store_id, stored.version_id, str(stored.ref), version.redacted_at, by)
            one = _ToGive(order, version, len(imported.results), None if done is None else known)
            try:
                self._give(view, store, one, imported)
            except InvalidRequest:
                imported.kept.append(one)
        status: Status = "imported" if done is None else "known"
        rules = tuple(str(one["rule"]) for one in scanned.findings) if scanned.withheld else ()
        told, kinds = tuple(dict.fromkeys(rules)), scanned.redacted
        return ImportResult(version.version_id, version.memory_id, status, withheld_rules=told, redacted=kinds)

    def _give(self, view: View, store: StoreRow, one: _ToGive, imported: _Imported) -> None:
        """Give an order.

        Raises:
            InvalidRequest: its version was here before, and is the head of a live memory. Unavailable, OutcomeUnknown.
        """
        if one.known is not None:
            self._redactions.require_superseded(view, store, one.known)
        try:
            imported.orders.append(self._redactions.give(view, store, one.order))
        except Unavailable as error:
            if one.known is not None:
                raise
            raise in_doubt("a version was imported, and is not redacted yet", error, REPEAT) from error

    def _give_kept(self, store: StoreRow, imported: _Imported) -> None:
        """Give the orders for versions that were heads in their turn; refuse those that still are.

        Raises:
            Unavailable, OutcomeUnknown.
        """
        for one in imported.kept:
            view = self._region.view([StoreRow.key(store.store_id)])
            try:
                self._give(view, self._now(view, store), one, imported)
            except (InvalidRequest, NotFound) as error:
                imported.results[one.place] = _refused(one.version, error)

    def _now(self, view: View, store: StoreRow) -> StoreRow:
        """Return the store's record as this batch has it. Raises NotFound; Unavailable for a home that has moved."""
        now = stored_record(view, store)
        if now.is_deleted:
            raise NotFound("memory_store", now.store_id)
        if now.home != self._region.name or now.state != StoreState.ACTIVE:
            raise Unavailable("the store's home has moved, or is moving; try again")
        return now

    def _scan(self, store: StoreRow, version: ImportedVersion) -> _Scanned:
        """Scan the text and its path; withhold here too what was withheld where it comes from.

        Raises:
            InvalidRequest: the path is refused.
        """
        report, admitted = read(self._scanner, store, version.content or "", version.path)
        scanned = _Scanned(
            replace(version, content=admitted.text),
            admitted.flags,
            redacted=tuple(secret.kind for secret in admitted.redacted),
        )
        if report.verdict is Verdict.REJECT:
            _require_path(report.rejecting)
            findings: tuple[Mapping[str, object], ...] = tuple(map(finding_to_json, report.rejecting))
            return replace(scanned, findings=findings, reason=report.rejecting[0].reason)
        if version.withheld_reason is not None:
            findings = tuple({"rule": rule, "reason": version.withheld_reason} for rule in version.withheld_rules)
            return replace(scanned, findings=findings, reason=version.withheld_reason or "withheld where it comes from")
        return scanned

    def _withholding(self, store: StoreRow, scanned: _Scanned) -> VerdictRecord:
        """Make the verdict. Its `position` is the path's first slot: the verdict comes before its version has one."""
        version = scanned.version
        hash = path_hash(bytes.fromhex(store.salt), version.path or version.memory_id)
        epoch = store.epochs[-1]
        return VerdictRecord(
            store_id=store.store_id,
            version_id=version.version_id,
            position=f"{hash}/{epoch}.0000000001",
            content_hmac=self._verdicts.hmac(store, sha256_hex(version.content or "")),
            outcome=VerdictOutcome.WITHHOLD,
            decided_at=self._region.clock.now_us(),
            decided_by=SCANNER,
            reason=scanned.reason,
            findings=scanned.findings,
        )


def _decoded(row: Mapping[str, Any]) -> ImportResult:
    """Parse what `dataclasses.asdict` made, after JSON."""
    lists = {name: tuple(row.get(name, ())) for name in ("withheld_rules", "redacted")}
    return ImportResult(**{**row, **lists})


def _require_path(findings: Sequence[Finding]) -> None:
    """Raise InvalidRequest where the path is refused: a listing would show it, even without the text."""
    about_path = [finding for finding in findings if finding.line == 0]
    if about_path:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in about_path))
        raise InvalidRequest("path", f"refused by the safety scanner ({rules})")


def _row(view: View, key: RowKey) -> VersionRow | None:
    """Return the version where it is known; only its redaction may be."""
    row = VersionRow.from_attributes(view.rows[key]) if key in view.rows else None
    return row if row is not None and row.memory_id is not None else None


def _refused(version: ImportedVersion, error: MemolithError) -> ImportResult:
    taken = isinstance(error, PathConflict)
    return ImportResult(version.version_id, version.memory_id, "refused", error.message, path_taken=taken)
