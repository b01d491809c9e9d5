"""The index on DynamoDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from botocore.exceptions import ClientError

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of, is_throttled, read_error, write_error
from memolith.adapters.aws.expressions import (
    Placeholders,
    from_item,
    item_key,
    key_range,
    projection,
    still,
    to_item,
    turning,
)
from memolith.adapters.aws.names import Deployment
from memolith.adapters.limits import ROWS_PER_READ, check_changes, check_key, check_query, same_row, stored
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.tables import PARTITION_KEY
from memolith.ports.clock import Clock
from memolith.ports.errors import Contended, Unavailable
from memolith.ports.ids import Randomness
from memolith.ports.index import Change, Found, Query, RowMap

READ_ROUNDS = 8
"""How often keys that DynamoDB left unprocessed are asked for again; with the pauses between, about 3 s at most."""
COMMIT_TRIES = 3
FIRST_PAUSE_S = 0.025


class DynamoIndex:
    """`ports.index.Index` on one generation of a region's tables.

    A commit of one row is one PutItem, UpdateItem or DeleteItem (1 write unit a KB); one of more rows, or of a check
    alone, is a TransactWriteItems (2 a KB). boto3 sends each once: it would repeat one whose reply was lost, and what a
    second try is told says nothing of the first. Only what was throttled, and so not done, is tried again here.
    """

    def __init__(
        self,
        clients: Clients,
        deployment: Deployment,
        clock: Clock,
        randomness: Randomness,
        generation: int | None = None,
    ) -> None:
        self._clients = clients
        self._deployment = deployment
        self._clock = clock
        self._randomness = randomness
        self._generation = generation or deployment.index_generation
        self._client = clients.dynamodb(deployment.region)
        self._client_once = clients.dynamodb(deployment.region, attempts=1)

    @property
    def generation(self) -> int:
        return self._generation

    def at(self, generation: int) -> DynamoIndex:
        """Return the same region's tables in another generation."""
        return DynamoIndex(self._clients, self._deployment, self._clock, self._randomness, generation)

    def read(self, keys: Sequence[RowKey]) -> RowMap:
        """Read up to 100 keys with one strongly consistent BatchGetItem; a read unit for each 4 KB of a row, at least
        one.

        It asks again, with pauses, for keys that DynamoDB leaves unprocessed, before it raises Unavailable.
        """
        for key in keys:
            check_key(key)
        unique = list(dict.fromkeys(keys))
        found: dict[RowKey, Attributes] = {}
        for start in range(0, len(unique), ROWS_PER_READ):
            self._read_batch(unique[start : start + ROWS_PER_READ], found)
        return found

    def query(self, query: Query) -> Sequence[Found]:
        """Send one Query, and more only where an answer ended at 1 MB."""
        check_query(query)
        wanted = key_range(query)
        if wanted is None:
            return []
        request: dict[str, Any] = {
            "TableName": self._table(query.table),
            "KeyConditionExpression": wanted.expression,
            "ScanIndexForward": not query.descending,
            **projection(query, wanted),
            **wanted.places.parameters(),
            **({"ConsistentRead": True} if query.index is None else {"IndexName": query.index}),
        }
        found: list[Found] = []
        while len(found) < query.limit:
            page = self._query(request | {"Limit": query.limit - len(found) + wanted.spare_rows}, query.table)
            for item in page["Items"]:
                if wanted.belongs(item[wanted.sort_attribute]["S"]):
                    key, row = from_item(query.table, item)
                    found.append(Found(key, item[wanted.sort_attribute]["S"], row))
            if "LastEvaluatedKey" not in page:
                break
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        return found[: query.limit]

    def count(self, table: str, pk: str) -> int:
        """Count with one Query for every MB of the partition; costs as much as reading it."""
        check_key(RowKey(table, pk, "any"))
        places = Placeholders()
        request: dict[str, Any] = {
            "TableName": self._table(table),
            "KeyConditionExpression": f"{places.name(PARTITION_KEY)} = {places.value(pk)}",
            "ConsistentRead": True,
            "Select": "COUNT",
            **places.parameters(),
        }
        total = 0
        while True:
            page = self._query(request, table)
            total += int(page["Count"])
            if "LastEvaluatedKey" not in page:
                return total
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def commit(self, changes: Sequence[Change]) -> None:
        """Commit all or none; see `memolith.adapters.aws.expressions` for what "still what was read" compares."""
        check_changes(changes)
        writes = [self._write(change) for change in changes]
        if not writes:
            return
        for number in range(1, COMMIT_TRIES + 1):
            try:
                self._send(writes)
            except AwsError as error:
                if number == COMMIT_TRIES or not _only_throttled(error):
                    raise _commit_error(error, changes) from error
                self._clock.pause(FIRST_PAUSE_S * 2**number * self._randomness.fraction())
            else:
                return

    def _table(self, name: str) -> str:
        return self._deployment.table(name, self._generation)

    def _read_batch(self, keys: Sequence[RowKey], found: dict[RowKey, Attributes]) -> None:
        short_names = {self._table(key.table): key.table for key in keys}
        pending: dict[str, Any] = {}
        for key in keys:
            request = pending.setdefault(self._table(key.table), {"ConsistentRead": True, "Keys": []})
            request["Keys"].append(item_key(key))
        for round_number in range(READ_ROUNDS):
            if round_number:
                self._clock.pause(FIRST_PAUSE_S * 2**round_number * self._randomness.fraction())
            try:
                answer: Any = self._client.batch_get_item(RequestItems=pending)
            except AwsError as error:
                raise read_error(error, "a read of rows") from error
            for table, items in answer["Responses"].items():
                found.update(from_item(short_names[table], item) for item in items)
            pending = answer.get("UnprocessedKeys", {})
            if not pending:
                return
        raise Unavailable(f"a read of rows: some keys were not processed in {READ_ROUNDS} rounds")

    def _query(self, request: dict[str, Any], table: str) -> Any:
        try:
            return self._client.query(**request)
        except AwsError as error:
            raise read_error(error, f"a query of {table}") from error

    def _write(self, change: Change) -> tuple[str, dict[str, Any]]:
        """Return the name of the operation for one row, and its parameters."""
        key = change.key
        before = None if change.before is None else stored(key, change.before)
        after = None if change.after is None else stored(key, change.after)
        check_key(key)
        where: dict[str, Any] = {"TableName": self._table(key.table)}
        if change.unconditional:
            if after is None:
                return "Delete", {**where, "Key": item_key(key)}
            return "Put", {**where, "Item": to_item(key, after)}
        places = Placeholders()
        where["ConditionExpression"] = still(key.table, before, after, places)
        if same_row(before, after):
            return "ConditionCheck", {**where, "Key": item_key(key), **places.parameters()}
        if after is None:
            return "Delete", {**where, "Key": item_key(key), **places.parameters()}
        if before is None:
            return "Put", {**where, "Item": to_item(key, after), **places.parameters()}
        where["UpdateExpression"] = turning(before, after, places)
        return "Update", {**where, "Key": item_key(key), **places.parameters()}

    def _send(self, writes: Sequence[tuple[str, dict[str, Any]]]) -> None:
        operation, parameters = writes[0]
        if len(writes) > 1 or operation == "ConditionCheck":
            self._client_once.transact_write_items(TransactItems=[_transact_item(*write) for write in writes])
        elif operation == "Put":
            self._client_once.put_item(**parameters)
        elif operation == "Update":
            self._client_once.update_item(**parameters)
        else:
            self._client_once.delete_item(**parameters)


def _transact_item(operation: str, parameters: dict[str, Any]) -> Any:
    return {operation: parameters}


_CONTENDED = frozenset(
    {"ConditionalCheckFailed", "ConditionalCheckFailedException", "TransactionConflict", "TransactionConflictException"}
)

_THROTTLED_ROWS = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


_IN_CONFLICT = frozenset({"TransactionConflict"})


def _commit_error(error: Exception, changes: Sequence[Change]) -> Exception:
    """Make the port error for a failed commit. A cancelled transaction changed nothing and says which rows failed."""
    if code_of(error) in _CONTENDED:
        return Contended(f"a commit: {code_of(error)}")
    if code_of(error) == "TransactionCanceledException":
        reasons = _reasons(error)
        if reasons & _CONTENDED:
            return Contended(f"a commit: {', '.join(sorted(reasons & _CONTENDED))}", _busy(error, changes))
        if "ValidationError" in reasons:
            return ValueError("a commit: ValidationError")
        return Unavailable(f"a commit: {', '.join(sorted(reasons)) or 'cancelled'}")
    return write_error(error, "a commit")


def _only_throttled(error: Exception) -> bool:
    """Tell whether nothing but the rate was wrong with it."""
    if code_of(error) == "TransactionCanceledException":
        return bool(_reasons(error)) and _reasons(error) <= _THROTTLED_ROWS
    return is_throttled(error)


def _reasons(error: Exception) -> set[str]:
    """Return why a transaction was cancelled: what any of its rows says."""
    return set(_codes(error)) - {"None"}


def _codes(error: Exception) -> list[str]:
    """Return what each row of a cancelled transaction says, in the order of its rows."""
    listed: Any = error.response.get("CancellationReasons", ()) if isinstance(error, ClientError) else ()
    return [str(reason.get("Code")) for reason in listed]


def _busy(error: Exception, changes: Sequence[Change]) -> list[RowKey]:
    """Return the rows at which other transactions were, if nothing else was wrong."""
    if not _reasons(error) <= _IN_CONFLICT:
        return []
    return [change.key for change, code in zip(changes, _codes(error), strict=False) if code in _IN_CONFLICT]
