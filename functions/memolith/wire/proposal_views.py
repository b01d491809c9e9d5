"""Proposals as the API's JSON objects."""

from __future__ import annotations

from memolith.app.kernel.proposal_results import EditView, Proposal
from memolith.core.objects.proposal_record import EditResult
from memolith.core.proposals import STALE
from memolith.core.times import rfc3339
from memolith.core.trust import name_of
from memolith.wire.json_views import Json, _instant, actor


def proposal(answer: Proposal) -> Json:
    """Render a proposal; `why`, `reason` and `edits` are null in a listing."""
    return {
        "type": "proposal",
        "id": answer.id,
        "memory_store_id": answer.store_id,
        "status": answer.status,
        "edit_count": answer.edit_count,
        "proposed_at": rfc3339(answer.proposed_at),
        "proposed_by": actor(answer.proposed_by or None),
        "expires_at": _instant(answer.expires_at),
        "endorsed_by": actor(answer.endorsed_by),
        "decided_at": _instant(answer.decided_at),
        "decided_by": actor(answer.decided_by),
        "complete": answer.complete,
        "erased": answer.erased,
        "why": answer.why,
        "reason": answer.reason,
        "edits": None if answer.edits is None else [_edit(edit) for edit in answer.edits],
    }


def _edit(answer: EditView) -> Json:
    diff = {"type": "unified_diff", "text": answer.diff, "trust": name_of(answer.diff_trust)}
    return {
        "type": "proposed_edit",
        "number": answer.number,
        "op": answer.op,
        "path": answer.path,
        "to": answer.to,
        "content": answer.content,
        "content_left_out": answer.content_left_out,
        "content_sha256": answer.content_sha256,
        "expected_content_sha256": answer.expected_content_sha256,
        "memory_id": answer.memory_id,
        "why": answer.why,
        "sources": list(answer.sources),
        "trust": name_of(answer.trust),
        "withheld": answer.withheld,
        "conflict": answer.conflict,
        "result": _result(answer.result),
        "reversal": _result(answer.reversal),
        "diff": None if answer.diff is None else diff,
        "diff_left_out": answer.diff_left_out,
    }


def _result(answer: EditResult | None) -> Json | None:
    """Render what became of an edit; one that is stale has the error that a direct write would have had."""
    if answer is None:
        return None
    error = {"type": "memory_precondition_failed_error", "message": answer.detail, "status": 409}
    return {
        "outcome": answer.outcome,
        "memory_id": answer.memory_id,
        "memory_version_id": answer.version_id,
        "detail": answer.detail,
        "error": error if answer.outcome == STALE else None,
    }
