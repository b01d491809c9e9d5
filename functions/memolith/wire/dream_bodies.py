"""The body of the request that begins a dream: Anthropic's, of the beta ``dreaming-2026-04-21``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from memolith.app.api.dreams import DreamRequest
from memolith.core import limits
from memolith.core.errors import InvalidRequest
from memolith.core.objects.run_record import CREATE_NEW
from memolith.wire.request_bodies import STORE_ID_MAX_CHARS, Body, _unicode
from memolith.wire.requests import ID_MAX_CHARS

ModelId = Annotated[str, Field(min_length=1, max_length=limits.DREAM_MODEL_MAX_CHARS), AfterValidator(_unicode)]
StoreId = Annotated[str, Field(min_length=1, max_length=STORE_ID_MAX_CHARS)]


class DreamStoreInput(Body):
    """The store that is read."""

    type: Literal["memory_store"]
    memory_store_id: StoreId


class DreamSessionsInput(Body):
    """The sessions that are read."""

    type: Literal["sessions"]
    session_ids: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=ID_MAX_CHARS)]],
        Field(min_length=1, max_length=limits.DREAM_SESSIONS_MAX, fail_fast=True),
    ]


class DreamModel(Body):
    """A model: as an object, or its id alone."""

    id: ModelId
    speed: Literal["standard"] | None = None


def _as_object(model: object) -> object:
    return model if isinstance(model, dict) else {"id": model}


class DreamCreateNew(Body):
    """The result goes into a new store."""

    type: Literal["create_new"]


class DreamUpdateExisting(Body):
    """The result goes into the input."""

    type: Literal["update_existing"]
    memory_store_id: StoreId


class DreamPropose(Body):
    """The result is a proposal for the input: ours."""

    type: Literal["propose"]


class DreamCreate(Body):
    """POST /v1/dreams."""

    inputs: Annotated[
        list[Annotated[DreamStoreInput | DreamSessionsInput, Field(discriminator="type")]],
        Field(min_length=1, max_length=2, fail_fast=True),
    ]
    model: Annotated[DreamModel, BeforeValidator(_as_object)] | None = None
    instructions: (
        Annotated[str, Field(min_length=1, max_length=limits.INSTRUCTIONS_MAX_CHARS), AfterValidator(_unicode)] | None
    ) = None
    output_behavior: (
        Annotated[DreamCreateNew | DreamUpdateExisting | DreamPropose, Field(discriminator="type")] | None
    ) = None

    def request(self) -> DreamRequest:
        """Return what the use case takes. Raises InvalidRequest for what holds between fields."""
        stores = [one for one in self.inputs if isinstance(one, DreamStoreInput)]
        sessions = [one for one in self.inputs if isinstance(one, DreamSessionsInput)]
        if len(stores) != 1 or len(sessions) > 1:
            raise InvalidRequest("inputs", "must have exactly one memory_store, and at most one sessions")
        session_ids = sessions[0].session_ids if sessions else []
        if len(set(session_ids)) != len(session_ids):
            raise InvalidRequest("inputs", "must name each session once")
        behavior = self.output_behavior
        if isinstance(behavior, DreamUpdateExisting) and behavior.memory_store_id != stores[0].memory_store_id:
            raise InvalidRequest("output_behavior.memory_store_id", "must be the memory store of inputs")
        return DreamRequest(
            store_id=stores[0].memory_store_id,
            session_ids=session_ids,
            model=None if self.model is None else self.model.id,
            speed=None if self.model is None else self.model.speed,
            instructions=self.instructions,
            behavior=CREATE_NEW if behavior is None else behavior.type,
        )
