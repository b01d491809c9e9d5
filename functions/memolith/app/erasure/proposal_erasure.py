"""Erasing the texts of a proposal in this region: its paths, contents and reasons, in each of its records."""

from __future__ import annotations

from memolith.app.kernel.listing import keys_of
from memolith.app.kernel.port_calls import find_head, require
from memolith.app.kernel.region import Region
from memolith.app.log.store_log import StoreLog
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.object_keys import ProposalKey, parse_key
from memolith.core.objects.proposal_record import ProposalRecord, ProposalStep
from memolith.ports import errors as port_errors
from memolith.ports.objects import ErasableObjects


class ProposalErasure:
    """Blanks the records of proposals, for a reason that this region's own bucket has."""

    def __init__(self, region: Region, erasable: ErasableObjects, records: StoreLog) -> None:
        self._region = region
        self._erasable = erasable
        self._records = records

    def erase(self, key: str) -> bool:
        """Blank every record of the proposal of which `key` is one, if there is a reason; return whether. Repeatable.

        The reason is an order to erase it, or the deletion of its store. A HEAD and a LIST for each region, a GET for
        each record, and what `ErasableObjects.erase` costs for those that have a text.

        Raises:
            InvalidRequest: not a key of a proposal. Unavailable: not finished; repeat it.
        """
        name = parse_key(key)
        if not isinstance(name, ProposalKey):
            raise InvalidRequest("key", "names no record of a proposal")
        if not self._is_ordered(name) and self._records.deletion(name.store_id) is None:
            return False
        for home in self._region.origins:
            prefix = f"{home}/proposal/{name.store_id}/{name.proposal_id}/"
            for one in list(keys_of(self._region.objects, ProposalKey, prefix)):
                self.blank(str(one))
        return True

    def blank(self, key: str) -> bool:
        """Blank one record for which the caller has a reason; return whether there was anything. Repeatable.

        Raises:
            ValueError: it cannot be read. Unavailable: not finished; repeat it.
        """
        record = ProposalRecord.from_json(require(self._region.objects, key).body)
        try:
            if not record.has_text:
                return bool(self._erasable.delete_older(key))
            self._erasable.erase(key, record.blanked().to_json(), {})
        except port_errors.ObjectNotFound as error:
            raise Unavailable("the object to erase is not there", object=key, hint="try again") from error
        self._region.metrics.count("erased_objects")
        return True

    def _is_ordered(self, name: ProposalKey) -> bool:
        orders = (
            ProposalKey(home, name.store_id, name.proposal_id, ProposalStep.ERASED) for home in self._region.origins
        )
        return any(find_head(self._region.objects, str(order)) is not None for order in orders)
