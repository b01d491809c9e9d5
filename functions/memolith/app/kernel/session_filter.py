"""Which sessions a listing is to show."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.objects.session_record import SessionRecord


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What a session must be to be shown; None, and no status, ask for nothing. Instants are inclusive.

    `agent_version` is asked for together with an `agent_id` alone. No session is of a deployment: that is Anthropic's.
    """

    include_archived: bool = False
    memory_store_id: str | None = None
    key_id: str | None = None
    agent_id: str | None = None
    created_at_gte: int | None = None
    created_at_lte: int | None = None
    agent_version: int | None = None
    deployment_id: str | None = None
    statuses: frozenset[str] = frozenset()

    def shows(self, record: SessionRecord) -> bool:
        """Tell whether a session is to be shown."""
        stores = {one.memory_store_id for one in record.attachments}
        return (
            (self.include_archived or record.archived_at is None)
            and (not self.statuses or record.status in self.statuses)
            and self.memory_store_id in {None, *stores}
            and self.key_id in (None, record.key_id)
            and (self.agent_id is None or self._is_of_agent(record))
            and (self.created_at_gte is None or record.created_at >= self.created_at_gte)
            and (self.created_at_lte is None or record.created_at <= self.created_at_lte)
            and self.deployment_id is None
        )

    def _is_of_agent(self, record: SessionRecord) -> bool:
        return self.agent_id == record.agent_id and self.agent_version in (None, record.agent_version)
