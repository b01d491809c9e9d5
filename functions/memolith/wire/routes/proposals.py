"""Operations on proposals: open, list, read, approve, reject, withdraw, revert, erase."""

from __future__ import annotations

from memolith.core.proposals import OPEN, STATUSES
from memolith.wire import freshness
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json
from memolith.wire.proposal_views import proposal


def open_proposal(exchange: Exchange) -> Json:
    from memolith.wire.proposal_bodies import ProposalOpen
    from memolith.wire.request_bodies import parse

    body = parse(ProposalOpen, exchange.request.body())
    edits = [edit.asked() for edit in body.edits]
    return proposal(
        exchange.memolith.proposals.open(exchange.call, exchange.store_id, why=body.why, edits=edits, key=body.key)
    )


def list_proposals(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    status = exchange.request.query.one_of("status", *STATUSES) or OPEN
    listing: Listing = ("proposals", exchange.store_id, status)
    answer = exchange.memolith.proposals.page(
        exchange.call,
        exchange.store_id,
        status=status,
        limit=exchange.request.query.limit(),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, proposal)


def retrieve_proposal(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    diff = exchange.request.query.one_of("diff", "unified") is not None
    return proposal(exchange.memolith.proposals.retrieve(exchange.call, exchange.store_id, exchange.item_id, diff=diff))


def approve_proposal(exchange: Exchange) -> Json:
    from memolith.wire.proposal_bodies import ProposalApprove
    from memolith.wire.request_bodies import parse

    body = parse(ProposalApprove, exchange.request.body()) if exchange.request.raw_body else ProposalApprove()
    return proposal(
        exchange.memolith.proposals.approve(exchange.call, exchange.store_id, exchange.item_id, edits=body.edits)
    )


def reject_proposal(exchange: Exchange) -> Json:
    from memolith.wire.proposal_bodies import ProposalReject
    from memolith.wire.request_bodies import parse

    body = parse(ProposalReject, exchange.request.body())
    return proposal(
        exchange.memolith.proposals.reject(exchange.call, exchange.store_id, exchange.item_id, reason=body.reason)
    )


def withdraw_proposal(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return proposal(exchange.memolith.proposals.withdraw(exchange.call, exchange.store_id, exchange.item_id))


def revert_proposal(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return proposal(exchange.memolith.proposals.revert(exchange.call, exchange.store_id, exchange.item_id))


def erase_proposal(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return proposal(exchange.memolith.proposals.erase(exchange.call, exchange.store_id, exchange.item_id))
