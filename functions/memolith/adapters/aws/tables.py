"""Making and dropping generations of tables on DynamoDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of, read_error
from memolith.adapters.aws.names import Deployment
from memolith.core.tables import PARTITION_KEY, SORT_KEY, TABLES, Table
from memolith.ports.clock import Clock
from memolith.ports.errors import Unavailable

POLL_S = 2.0
POLLS = 150
"""How often a table's state is looked at before giving up: five minutes."""


class DynamoTables:
    """`ports.index.Tables`: tables just as the stack would have declared them, on demand and protected from deletion.

    Tables outside the generations are the stack's, and made here only after they were deleted. Every step looks
    before it acts, so that a run that was cut short is finished by the next.
    """

    def __init__(self, clients: Clients, deployment: Deployment, clock: Clock) -> None:
        self._client = clients.dynamodb(deployment.region)
        self._deployment = deployment
        self._clock = clock

    def make_lasting(self) -> None:
        """Create tables as `make` does, and let rows expire where the stack would have them. A few looks where none is
        missing.

        Raises:
            Unavailable: with some of them made, or one whose rows do not expire yet; the next run completes it.
        """
        lasting = [table for table in TABLES if not table.generational]
        self._make(lasting, 0)
        for table in lasting:
            self._let_expire(table)

    def make(self, generation: int) -> None:
        """Create what is missing, then wait for all. Raises Unavailable, with some of them made."""
        self._make(_generational(), generation)

    def drop(self, generation: int) -> None:
        """Lift the protection and delete; do not wait until they are gone. Raises Unavailable, with some gone."""
        for table in _generational():
            self._until(partial(self._dropped, table, generation))

    def _make(self, tables: Sequence[Table], generation: int) -> None:
        for table in tables:
            self._until(partial(self._created, table, generation))
        for table in tables:
            self._until(partial(self._serves, table, generation))

    def _let_expire(self, table: Table) -> None:
        if table.expires_attribute is None:
            return
        name = self._name(table, 0)
        try:
            found = self._client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
            if found["TimeToLiveStatus"] in ("ENABLED", "ENABLING"):
                return
            wanted: Any = {"Enabled": True, "AttributeName": table.expires_attribute}
            self._client.update_time_to_live(TableName=name, TimeToLiveSpecification=wanted)
        except AwsError as error:
            raise Unavailable(f"the expiry of rows of {name}: {code_of(error)}") from error

    def _created(self, table: Table, generation: int) -> bool:
        state = self._describe(table, generation)
        if state is not None:
            return bool(state["TableStatus"] != "DELETING")
        self._attempt(self._client.create_table, **_definition(table, self._name(table, generation)))
        return True

    def _serves(self, table: Table, generation: int) -> bool:
        state = self._describe(table, generation)
        if state is None:
            return False
        indexes = state.get("GlobalSecondaryIndexes", ())
        statuses = [one.get("IndexStatus", state["TableStatus"]) for one in indexes]
        return all(status == "ACTIVE" for status in (state["TableStatus"], *statuses))

    def _dropped(self, table: Table, generation: int) -> bool:
        state = self._describe(table, generation)
        if state is None or state["TableStatus"] == "DELETING":
            return True
        if state["TableStatus"] != "ACTIVE":
            return False
        name = self._name(table, generation)
        if state.get("DeletionProtectionEnabled"):
            self._attempt(self._client.update_table, TableName=name, DeletionProtectionEnabled=False)
        else:
            self._attempt(self._client.delete_table, TableName=name)
        return False

    def _name(self, table: Table, generation: int) -> str:
        return table.physical_name(self._deployment.prefix, generation)

    def _describe(self, table: Table, generation: int) -> Any:
        """Return DynamoDB's description of the table, or None if there is none."""
        try:
            return self._client.describe_table(TableName=self._name(table, generation))["Table"]
        except ClientError as error:
            if code_of(error) == "ResourceNotFoundException":
                return None
            raise read_error(error, f"the state of table {table.name}") from error
        except AwsError as error:
            raise read_error(error, f"the state of table {table.name}") from error

    def _attempt(self, act: Callable[..., object], **parameters: Any) -> None:
        """Act, or find that another caller is acting already: the next look will tell."""
        try:
            act(**parameters)
        except AwsError as error:
            if code_of(error) not in ("ResourceInUseException", "ResourceNotFoundException"):
                raise Unavailable(f"{parameters['TableName']}: {code_of(error)}") from error

    def _until(self, done: Callable[[], bool]) -> None:
        for _ in range(POLLS):
            if done():
                return
            self._clock.pause(POLL_S)
        raise Unavailable("a table did not get ready in time")


def _generational() -> list[Table]:
    return [table for table in TABLES if table.generational]


def _definition(table: Table, name: str) -> dict[str, Any]:
    """Return what CreateTable takes."""
    keys = {PARTITION_KEY, SORT_KEY}
    for index in table.indexes:
        keys |= {index.partition_key, index.sort_key}
    definition: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in sorted(keys)],
        "KeySchema": _schema(PARTITION_KEY, SORT_KEY),
        "BillingMode": "PAY_PER_REQUEST",
        "DeletionProtectionEnabled": True,
    }
    if table.indexes:
        definition["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index.name,
                "KeySchema": _schema(index.partition_key, index.sort_key),
                "Projection": {"ProjectionType": "ALL"},
            }
            for index in table.indexes
        ]
    return definition


def _schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition_key, "KeyType": "HASH"}, {"AttributeName": sort_key, "KeyType": "RANGE"}]
