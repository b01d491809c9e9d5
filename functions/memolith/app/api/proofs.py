"""Proofs of versions, and the public keys that they are checked with, for whoever may read the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext
from memolith.app.operations.proofs import make_proofs
from memolith.core import ids
from memolith.core.errors import NotFound
from memolith.core.rows.content import VersionRow
from memolith.ports.sealing import PublicJwk, Sealing


class VersionProofs:
    """The use cases of integrity that a caller of the API has: what is proven is by this region's bucket."""

    def __init__(self, region: Region, authorizer: Authorizer, sealing: Sealing) -> None:
        self._region = region
        self._authorizer = authorizer
        self._sealing = sealing
        self._proofs = make_proofs(region, sealing, bounded=True)

    def of_version(self, call: RequestContext, store_id: str, version_id: str) -> dict[str, Any]:
        """Return the proof of one version, or that an order erased it. It has no text, of whatever class or verdict.

        One index read, and what `Proofs.of_row` costs, bounded.

        Raises:
            NotFound, Unavailable, Damaged: as `Proofs.of_row`. Unauthenticated, PermissionDenied.
        """
        if ids.VERSION.fullmatch(version_id) is None:
            raise NotFound("memory_version", version_id)
        key = VersionRow.key(store_id, version_id)
        access = self._authorizer.enter_store(call, Scope.read, store_id, [key])
        row = None if key not in access.view.rows else VersionRow.from_attributes(access.view.rows[key])
        if row is None or row.memory_id is None:
            access.view.require_complete()
            raise NotFound("memory_version", version_id)
        return self._proofs.of_row(access.store, row)

    def keys(self, call: RequestContext) -> list[tuple[str, str, PublicJwk]]:
        """Return region, id and public half of each key that signs checkpoints. One index read; a call of each key's
        region, once a process.

        Raises:
            Unavailable: a region does not tell its key. Unauthenticated.
        """
        self._authorizer.admit(call)
        public: Mapping[str, Mapping[str, PublicJwk]] = {at: self._sealing.public(at) for at in self._region.regions}
        return [(region, id, key) for region, keys in public.items() for id, key in keys.items()]
