"""The forms of answers: what a model is told to answer with, and what its answer is held to.

The schema that a service is given has the shape alone, because no two services know the same keywords; lengths and
counts are checked here, after the answer. Every field is required, and what may be missing is null: the strict mode
of OpenAI's API asks for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memolith.core.limits import CONTENT_MAX_BYTES, PATH_MAX_BYTES
from memolith.ports.model import AnswerForm

NOTES_MAX = 12
EDITS_MAX = 60
OPEN_MAX = 20
SOURCES_MAX = 64

_SHAPE = frozenset(
    {"$ref", "$defs", "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "const"}
)
"""The keywords that every service knows."""

Path = Annotated[str, Field(min_length=1, max_length=PATH_MAX_BYTES)]
Source = Annotated[str, Field(min_length=1, max_length=200)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NoteType(StrEnum):
    """What a note is about."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


class NoteForm(_Form):
    """One thing worth keeping of a session."""

    type: NoteType
    name: str = Field(min_length=1, max_length=80)
    description: str = Field(max_length=160)
    body: str = Field(min_length=1, max_length=4_000)
    why: str | None = Field(max_length=1_000)
    how_to_apply: str | None = Field(max_length=1_000)
    evidence: list[Source] = Field(min_length=1, max_length=SOURCES_MAX)
    update_of: Path | None


class SessionOutcome(StrEnum):
    """How a session ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAIL = "fail"
    UNCERTAIN = "uncertain"


class ExtractionForm(_Form):
    """What is worth keeping of one session; nothing is the expected answer."""

    notes: list[NoteForm] = Field(max_length=NOTES_MAX)
    summary: str = Field(max_length=6_000)
    slug: str | None = Field(max_length=60)
    outcome: SessionOutcome


class EditKind(StrEnum):
    """What an edit does."""

    CREATE = "create"
    REPLACE = "replace"
    STR_REPLACE = "str_replace"
    DELETE = "delete"
    RENAME = "rename"


NEEDED = {
    EditKind.CREATE: ("content",),
    EditKind.REPLACE: ("content",),
    EditKind.STR_REPLACE: ("old", "new"),
    EditKind.DELETE: (),
    EditKind.RENAME: ("to",),
}
"""Which of its other fields each kind of edit needs; the rest have to be null."""


class EditForm(_Form):
    """One edit of one memory."""

    op: EditKind
    path: Path
    content: str | None
    old: str | None
    new: str | None
    to: Path | None
    why: str = Field(min_length=1, max_length=1_000)
    sources: list[Source] = Field(max_length=SOURCES_MAX)

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> EditForm:
        for name in ("content", "old", "new", "to"):
            there = getattr(self, name) is not None
            if there != (name in NEEDED[self.op]):
                raise ValueError(f"{name} must {'be null' if there else 'not be null'} where op is {self.op}")
        for name in ("content", "old", "new"):
            if len((getattr(self, name) or "").encode()) > CONTENT_MAX_BYTES:
                raise ValueError(f"{name} must have at most {CONTENT_MAX_BYTES} bytes")
        return self


class ConsolidationForm(_Form):
    """What a round of a consolidation answers: memories to open, or edits."""

    open: list[Path] = Field(max_length=OPEN_MAX)
    edits: list[EditForm] = Field(max_length=EDITS_MAX)
    summary: str = Field(max_length=4_000)
    done: bool


FORMS: Mapping[AnswerForm, type[_Form]] = {
    AnswerForm.EXTRACTION: ExtractionForm,
    AnswerForm.CONSOLIDATION: ConsolidationForm,
}


def schema_of(form: AnswerForm) -> dict[str, Any]:
    """Return the JSON schema of a form, as services take it."""
    shape = _shape(FORMS[form].model_json_schema())
    if not isinstance(shape, dict):
        raise TypeError("a schema is an object")
    return shape


def fitted(form: AnswerForm, text: str) -> dict[str, Any]:
    """Return the object that the text is.

    Raises:
        ValueError: it does not fit; the message names the place and the rule, and quotes nothing of the text.
    """
    try:
        return FORMS[form].model_validate_json(_unfenced(text)).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole answer"
        raise ValueError(f"{place}: {first['msg'][:300]}") from None


def _unfenced(text: str) -> str:
    """Return the text without a fence of Markdown around it, which models without a strict mode like to add."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```") and "\n" in stripped:
        return stripped.partition("\n")[2][:-3]
    return stripped


def _shape(part: Any, of_names: bool = False) -> Any:
    """Return the schema with the keywords of `_SHAPE` alone; `of_names`: the keys of this part are names."""
    if isinstance(part, list):
        return [_shape(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _shape(value, not of_names and key in ("properties", "$defs"))
        for key, value in part.items()
        if of_names or key in _SHAPE
    }
