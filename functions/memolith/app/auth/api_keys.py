"""API keys: objects like everything else, replicated, folded into the table that every call reads."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from memolith.app.auth.key_searches import KeySearches
from memolith.app.auth.newest_first import newest
from memolith.app.index.ack_journal import commit_joined_everywhere
from memolith.app.kernel.listing import keys_of, rows_of
from memolith.app.kernel.port_calls import find, require
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Credentials, IssuedKey
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core import ids
from memolith.core.api_keys import joined, to_record
from memolith.core.errors import InvalidRequest, NotFound, Unavailable, once_done
from memolith.core.limits import KEY_REQUESTS_PER_MINUTE_MAX, KEY_STORES_MAX
from memolith.core.object_keys import ApiKeyKey, parsed_key
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.base import RowKey
from memolith.core.rows.identity import ApiKeyRow
from memolith.core.sealing import named_record
from memolith.core.trust import HOLDERS
from memolith.ports.index import Change, Index, Query

SCOPES = ("read", "write", "admin")
KEY_PREFIX = "sk-memolith"


def key_text(workspace_id: str, key_id: str, secret: str) -> str:
    """Format what the caller presents: ``sk-memolith-{workspace}-{key}-{secret}``, ids without their prefixes."""
    return f"{KEY_PREFIX}-{workspace_id.removeprefix('wrkspc_')}-{key_id.removeprefix('apikey_')}-{secret}"


class ApiKeys:
    """Issues, finds, lists and revokes keys.

    Args:
        region: the ports.
        searches: how often `find` may search for what nobody may have issued.
    """

    def __init__(self, region: Region, searches: KeySearches) -> None:
        self._region = region
        self._searches = searches

    def create(
        self,
        workspace_id: str,
        name: str,
        scope: str,
        expires_at: int | None = None,
        stores: Sequence[str] | None = None,
        holder: str | None = None,
        requests_per_minute: int | None = None,
    ) -> IssuedKey:
        """Issue a key; its text is returned only this once. One PUT, one index read and write.

        Args:
            expires_at: from when on it is refused, in microseconds since 1970; None: never.
            stores: the only ones that it reaches; None: all of the workspace. They need not be known here yet.
            holder: who has it: person, agent or service. It decides the trust class of what is written with it.
            requests_per_minute: how often it may call, about (`KeyRates`); None: as often as it wants.

        Raises:
            InvalidRequest: what is malformed, or an `expires_at` that is past. Unavailable, OutcomeUnknown.
        """
        if ids.WORKSPACE.fullmatch(workspace_id) is None:
            raise InvalidRequest("workspace_id", "must be wrkspc_ and 1 to 40 lower-case letters or digits")
        if scope not in SCOPES:
            raise InvalidRequest("scope", f"must be one of {', '.join(SCOPES)}")
        if not 1 <= len(name) <= 255:
            raise InvalidRequest("name", "must be 1 to 255 characters")
        now_us = self._region.clock.now_us()
        if expires_at is not None and expires_at <= now_us:
            raise InvalidRequest("expires_at", "must be in the future")
        _check_stores(stores)
        if holder is not None and holder not in HOLDERS:
            raise InvalidRequest("holder", f"must be one of {', '.join(HOLDERS)}")
        _check_rate(requests_per_minute)
        key_id = self._region.new_regional_id("apikey")
        secret = self._region.randomness.bytes(32).hex()
        text = key_text(workspace_id, key_id, secret)
        digest = hashlib.sha256(text.encode()).hexdigest()
        limited = None if stores is None else tuple(stores)
        record = ApiKeyRecord(
            workspace_id,
            key_id,
            name,
            scope,
            digest,
            now_us,
            expires_at=expires_at,
            stores=limited,
            holder=holder,
            requests_per_minute=requests_per_minute,
        )
        self._put(record, 1, "was issued, and its text is lost", "revoke it, and issue another")
        limits = (expires_at, limited, holder, requests_per_minute)
        return IssuedKey(text, workspace_id, key_id, name, scope, record.created_at, *limits)

    def revoke(self, workspace_id: str, key_id: str) -> tuple[ApiKeyRecord, ApiKeyKey]:
        """Revoke a key, in this region at once; return the record and its object, which carries it to the others.

        Repeatable, from any region: where this region has revoked it before, with the same answer.

        Raises:
            NotFound, Unavailable, OutcomeUnknown.
        """
        view = self._region.view([ApiKeyRow.key(workspace_id, key_id)])
        attributes = view.rows.get(ApiKeyRow.key(workspace_id, key_id))
        row = None if attributes is None else ApiKeyRow.from_attributes(attributes)
        row = row or self.search(workspace_id, key_id)
        if row is None:
            raise NotFound("api_key", key_id)
        record = to_record(replace(row, revoked_at=row.revoked_at or self._region.clock.now_us()))
        return record, self._put(record, 2, "was revoked, but the index does not say so yet", "repeat the call")

    def _put(self, record: ApiKeyRecord, number: int, done: str, hint: str) -> ApiKeyKey:
        """Put a version of a key's record, and project it. Raises Unavailable: not put; OutcomeUnknown: `done`."""
        key = ApiKeyKey(self._region.name, record.workspace_id, record.key_id, number)
        body = record.to_json()
        mine = put_if_absent(self._region, str(key), body, {}) is Put.MINE
        with once_done(f"{record.key_id} {done}", hint):
            self.fold(self._region.view(), record, named_record(key, body) if mine else Named(str(key)), own=True)
        return key

    def newest(self, view: View, workspace_id: str, after: str | None, limit: int) -> list[ApiKeyRow]:
        """Read a workspace's keys, newest first, after the key `after`; revoked ones too. One query for each region.

        Raises:
            Unavailable.
        """
        found = newest(self._region, view, "apikey", workspace_id, after, limit)
        return [ApiKeyRow.from_attributes(one.attributes) for one in found]

    def of_workspace(self, workspace_id: str) -> list[ApiKeyRow]:
        """List every key of a workspace, oldest first, revoked ones too. Raises Unavailable."""
        query = Query("keys", workspace_id, prefix="apikey_")
        return list(rows_of(self._region.view().index, query, ApiKeyRow))

    def find(self, credentials: Credentials, *, complete: bool) -> ApiKeyRow | None:
        """Find a presented key that the index lacks, in the bucket. A LIST a region, and a GET for each record.

        No call for a key that was not found a moment ago, nor while too many were searched for in vain
        (`KeySearches`). Then an index that is `complete` lacks a key only until the event of its object is folded: it
        is not known here yet. It projects nothing: a reader may not, and the records' own events will.

        Raises:
            Unavailable: the bucket does not answer; or no search is left, and the index is not complete.
        """
        # With the workspace: a stranger may present the id of a key that exists for another one.
        presented = f"{credentials.workspace_id}/{credentials.key_id}"
        if self._searches.is_missing(presented):
            return None
        if not self._searches.take():
            if complete:
                return None
            raise Unavailable(
                "the API key cannot be looked up: this region's index is being rebuilt, and too many keys that do not "
                "exist were presented",
                region=self._region.name,
                hint="try again in some seconds, or in another region",
            )
        row = self.search(credentials.workspace_id, credentials.key_id)
        if row is None:
            self._searches.note_missing(presented)
        elif hmac.compare_digest(row.secret_sha256, credentials.secret_sha256):
            self._searches.give_back()
        return row

    def search(self, workspace_id: str, key_id: str, row: ApiKeyRow | None = None) -> ApiKeyRow | None:
        """Search the bucket as often as is asked: not for a key that a stranger presents. Raises Unavailable.

        What is found is joined into `row`. A LIST a region, and a GET for each record.
        """
        if ids.birth_region(key_id, self._region.origins) is None or ids.WORKSPACE.fullmatch(workspace_id) is None:
            return row
        for region in self._region.origins:
            for key in keys_of(self._region.objects, ApiKeyKey, f"{region}/key/{workspace_id}/{key_id}/"):
                row = joined(row, ApiKeyRecord.from_json(require(self._region.objects, str(key)).body))
        return row

    def with_its_end(self, view: View, row: ApiKeyRow) -> ApiKeyRow:
        """Return a key's row, with its revocation if the row may lack that: an old record may have made it anew.

        No call where the index is complete; otherwise a LIST a region, and a GET for each record. Raises Unavailable.
        """
        found = None if view.complete else self.search(row.workspace_id, row.key_id, row)
        return found or row

    def confirm(self, view: View, key: str) -> None:
        """Project one version of a key's record, before its event comes, from the object alone. Repeatable.

        The object is read in this region's bucket or, where it has not arrived, in that of the region that wrote it.
        At most two GETs, an index read and write.

        Raises:
            InvalidRequest: `key` is no version of an API key of this deployment, or what stands there is none.
            NotFound: nothing stands there. Unavailable, OutcomeUnknown.
        """
        name = parsed_key(key)
        if not isinstance(name, ApiKeyKey) or name.region not in self._region.origins:
            raise InvalidRequest("key", "must be the object of an API key's record: REGION/key/WORKSPACE/KEY/NUMBER")
        found = find(self._region.objects, key) or find(self._region.objects, key, name.region)
        if found is None:
            raise NotFound("object", key)
        try:
            record = ApiKeyRecord.stored_as(name, found.body)
        except ValueError as error:
            raise InvalidRequest("key", f"names an object that is no record of this API key ({error})") from error
        self.fold(view, record)

    def fold(self, view: View, record: ApiKeyRecord, name: Named | None = None, own: bool = False) -> None:
        """Join one version of a key's record into every generation of tables. A revocation absorbs.

        `name` is the record's object, if it is of this home: it is logged as acknowledged where the record was new to
        the index, or the caller is about to acknowledge it as its `own`.
        """
        key = ApiKeyRow.key(record.workspace_id, record.key_id)
        commit_joined_everywhere(
            self._region,
            view,
            partial(self._changes, key=key, record=record),
            name,
            own=own,
            contended="the key's row stayed contended; read before trying again",
        )

    def _changes(self, index: Index, key: RowKey, record: ApiKeyRecord) -> list[Change]:
        attributes = self._region.read(index, [key]).get(key)
        after = joined(None if attributes is None else ApiKeyRow.from_attributes(attributes), record).to_attributes()
        return [] if after == attributes else [Change(key, attributes, after)]


def _check_rate(requests_per_minute: object) -> None:
    """Raise InvalidRequest for what is no number of calls a minute."""
    if requests_per_minute is None:
        return
    rate = requests_per_minute
    if isinstance(rate, bool) or not isinstance(rate, int) or not 1 <= rate <= KEY_REQUESTS_PER_MINUTE_MAX:
        raise InvalidRequest(
            "requests_per_minute", f"must be 1 to {KEY_REQUESTS_PER_MINUTE_MAX}, or be left out for no limit"
        )


def _check_stores(stores: Sequence[str] | None) -> None:
    """Raise InvalidRequest for a list of stores that no key can be limited to."""
    if stores is None:
        return
    if not 1 <= len(stores) <= KEY_STORES_MAX:
        raise InvalidRequest("stores", f"must name 1 to {KEY_STORES_MAX} memory stores, or be left out for no limit")
    if len(set(stores)) < len(stores):
        raise InvalidRequest("stores", "must name each memory store once")
    malformed = next((id for id in stores if ids.STORE.fullmatch(id) is None), None)
    if malformed is not None:
        raise InvalidRequest("stores", f"must name memory stores by their ids (memstore_…): {malformed[:80]} is none")
