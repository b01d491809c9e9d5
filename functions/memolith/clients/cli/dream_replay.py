"""Doing a dream again without writing: what its store and its sessions said then is asked once more.

Nothing but GETs is sent. The questions are the dream's own, made by the same code, but for the time and for what was
erased or reported since; the answers come from a model of the caller's, or from a file in which they were recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memolith.adapters.models.catalog import Catalog
from memolith.adapters.models.extractive import MODEL as STAND_IN_MODEL
from memolith.adapters.models.extractive import ExtractiveModels
from memolith.adapters.models.recorded import RecordedModel
from memolith.adapters.models.services import SERVICES, service_of
from memolith.adapters.system import SystemClock, SystemRandomness, Unmeasured
from memolith.app.api.dream_run import opened_at_first
from memolith.app.api.dream_sessions import SAID, DreamSessions
from memolith.app.api.transcripts import EventFilter
from memolith.app.kernel.results import Page, RequestContext
from memolith.app.pipelines.prompts import load_prompt
from memolith.app.pipelines.questions import CONSOLIDATION, EXTRACTION, Question
from memolith.clients.api.client import DREAMS, SESSIONS, ApiClient, address
from memolith.core.errors import InvalidRequest
from memolith.core.objects.run_record import PROPOSE, UPDATE_EXISTING, DreamStatus, RunRecord
from memolith.core.objects.transcript import Event
from memolith.core.pipelines import dreams
from memolith.core.pipelines.dreams import DreamedMemory, Edit
from memolith.core.pipelines.framing import framed
from memolith.core.pipelines.policy import MODEL_DEFAULT
from memolith.core.proposals import unified_diff
from memolith.core.remarks import REMARKS_AGAIN_US, is_log, notes_of
from memolith.core.times import parse_rfc3339, rfc3339
from memolith.core.trust import AGENT, LETTERS, least
from memolith.ports.model import Answer, Ask, Block, Model, Role, Turn

STAND_IN = "extractive"

Texts = dict[str, str | None]
"""What memories came to, by the paths at which they were; None: deleted."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a dream came to when it was done again, and what it had come to."""

    model: str
    prompt_sha256: str
    dropped: tuple[str, ...]
    before: Mapping[str, str]
    again: Texts
    then: Texts

    @property
    def outcomes(self) -> dict[str, str]:
        """By path: ``same``, ``differs``, ``only_then`` or ``only_again``."""
        return {path: self._outcome(path) for path in sorted({*self.again, *self.then})}

    @property
    def is_same(self) -> bool:
        """Whether the same came of it."""
        return set(self.outcomes.values()) <= {"same"}

    def to_json(self) -> dict[str, Any]:
        """Return it for programs."""
        paths = [{"path": path, "outcome": one, "diff": self.diff(path)} for path, one in self.outcomes.items()]
        told = {"model": self.model, "prompt_sha256": self.prompt_sha256, "dropped": list(self.dropped)}
        return {"same": self.is_same, **told, "data": paths}

    def _outcome(self, path: str) -> str:
        if path not in self.again:
            return "only_then"
        if path not in self.then:
            return "only_again"
        return "same" if self.again[path] == self.then[path] else "differs"

    def diff(self, path: str) -> str:
        """Return the lines by which the second result differs from the first; of one that is alone, what it changes."""
        if path in self.then and path in self.again:
            return unified_diff(self.then[path], self.again[path], path)
        return unified_diff(self.before.get(path), (self.again if path in self.again else self.then)[path], path)


def answering(
    dream: Mapping[str, Any], service: str | None, model: str | None, address: str | None, cassette: Path | None
) -> Model:
    """Return what answers a replay.

    Raises:
        InvalidRequest: the dream's own model is not the stand-in, and neither a service nor recorded answers are named;
            or no model of the service is named.
    """
    behind: Model | None = None
    if service in SERVICES:
        made = service_of(str(service), url=address)
        named = model or _model_of(dream)
        behind = Catalog(made, SystemClock(), SystemRandomness(), Unmeasured(), default=named).named(named)
    elif service == STAND_IN or (service is None and dream["x_memolith"]["model_answered"] in (None, STAND_IN_MODEL)):
        behind = ExtractiveModels().named("")
    elif service is not None:
        raise InvalidRequest("--service", f"must be one of {', '.join((STAND_IN, *SERVICES))}")
    if cassette is not None:
        return RecordedModel(cassette, behind)
    if behind is None:
        raise InvalidRequest("--service", "must say who answers, or --cassette name recorded answers")
    return behind


def _model_of(dream: Mapping[str, Any]) -> str:
    """Return the dream's model, as a service names it. Raises InvalidRequest: no model of a service was asked."""
    named, answered = str(dream["model"]["id"]), dream["x_memolith"]["model_answered"]
    if named != MODEL_DEFAULT:
        return named
    if answered in (None, STAND_IN_MODEL):
        raise InvalidRequest("--model", "must name a model of the service, as no service's model answered this dream")
    return str(answered)


class _Transcripts:
    """What `DreamSessions` reads, over HTTP, as of an instant."""

    def __init__(self, api: ApiClient, until: str) -> None:
        self._api = api
        self._until = until

    def page(
        self, call: RequestContext, session_id: str, *, filter: EventFilter, limit: int, after: str | None
    ) -> Page[Event]:
        query: dict[str, str | int] = {"order": "desc", "limit": limit, "created_at[lte]": self._until}
        if after is not None:
            query["page"] = after
        found = self._api.get(address(session_id, "events", of=SESSIONS), query)
        events = [_event(one) for one in found["data"] if one["type"] in SAID]
        return Page(tuple(events), found["next_page"])


def _event(shown: Mapping[str, Any]) -> Event:
    fields = {name: value for name, value in shown.items() if name in ("content", "name", "input")}
    return Event(shown["id"], shown["type"], parse_rfc3339(shown["processed_at"]), LETTERS.get(shown["trust"]), fields)


class Replayer:
    """Does one dream again. One model at a time; it costs what the dream's questions cost."""

    def __init__(self, api: ApiClient, model: Model) -> None:
        self._api = api
        self._model = model
        self._answered, self._prompt = "", ""
        self._least: str | None = AGENT

    def replay(self, dream: Mapping[str, Any]) -> Replay:
        """Read, ask and plan as the dream did; compare with what it proposed or wrote.

        Raises:
            InvalidRequest: it is not over, or wrote into a store of its own. ModelFailure: the model gave no answer.
        """
        behavior = dream["output_behavior"]["type"]
        if dream["status"] != DreamStatus.COMPLETED or behavior not in (PROPOSE, UPDATE_EXISTING):
            raise InvalidRequest("DREAM", "must have been completed, as a proposal or into its input")
        store_id = str(dream["inputs"][0]["memory_store_id"])
        memories = self._memories(store_id, dream["created_at"])
        logs = {path: memories.pop(path) for path in [*memories] if is_log(path)}
        notes = [*self._notes(dream), *self._remarks(dream, store_id, logs)]
        raw = self._asked(dream, memories, notes) if memories or notes else ()
        sources = {one.version_id for one in memories.values()} | {str(note["id"]) for note in notes}
        chosen = dreams.selected(raw, memories, sources)
        before = {path: one.text for path, one in memories.items()}
        again = _results(chosen.edits, memories)
        return Replay(self._answered, self._prompt, chosen.dropped, before, again, self._then(dream, store_id))

    def _memories(self, store_id: str, as_of: str) -> dict[str, DreamedMemory]:
        rows = self._api.rows(address(store_id, "memories"), {"view": "full", "as_of": as_of})
        return {
            row["path"]: DreamedMemory(
                row["id"],
                row["path"],
                row["memory_version_id"],
                row["content_sha256"],
                rfc3339(parse_rfc3339(row["updated_at"])),
                row["content"],
                LETTERS.get(row["trust"]),
            )
            for row in rows
            if row["type"] == "memory" and row["content"] is not None
        }

    def _notes(self, dream: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        sessions = DreamSessions(_Transcripts(self._api, dream["created_at"]))
        record = _record(dream)
        for session_id in record.session_ids:
            one = sessions.read(record, session_id, self._model.window_tokens, lambda: None)
            if one is not None:
                self._lower(one.classes)
                yield from one.notes(self._ask(EXTRACTION, one.document).data)

    def _remarks(
        self, dream: Mapping[str, Any], store_id: str, logs: Mapping[str, DreamedMemory]
    ) -> list[dict[str, Any]]:
        """Return what the logs said since the store's last completed dream before this one."""
        if not logs:
            return []
        query: dict[str, str | int] = {"created_at[lt]": dream["created_at"], "include_archived": "true"}
        earlier = (
            parse_rfc3339(one["created_at"])
            for one in self._api.rows(DREAMS, {**query, "statuses[]": DreamStatus.COMPLETED.value})
            if one["inputs"][0]["memory_store_id"] == store_id
        )
        since = max(0, next(earlier, 0) - REMARKS_AGAIN_US)
        notes, _ = notes_of(
            {path: log.text for path, log in logs.items()},
            since,
            lambda path: self._before(store_id, logs[path], since),
        )
        self._lower(logs[path].trust for path in {str(note["session"]) for note in notes})
        return notes

    def _before(self, store_id: str, log: DreamedMemory, since: int) -> str:
        """Return the text that a log had before an instant, as the dream did (`DreamMemories.before`)."""
        if log.updated_at < rfc3339(since):
            return log.text
        query: dict[str, str | int] = {"memory_id": log.id, "limit": 1, "view": "full"}
        query["created_at[lte]"] = rfc3339(since - 1)
        found = self._api.get(address(store_id, "memory_versions"), query)["data"]
        return found[0]["content"] or "" if found else ""

    def _lower(self, classes: Iterable[str | None]) -> None:
        """Note the least class of what the model was shown, as the dream does: it bounds what the next question has."""
        self._least = least(classes, self._least)

    def _asked(
        self, dream: Mapping[str, Any], memories: Mapping[str, DreamedMemory], notes: Sequence[Mapping[str, Any]]
    ) -> Sequence[Mapping[str, Any]]:
        def ask(number: int, opened: Collection[str] | None) -> Mapping[str, Any]:
            now, shown = dream["created_at"], list(memories.values())
            self._lower(one.trust for one in shown if opened is None or one.path in opened)
            asked = dreams.document(shown, opened, notes, dream["instructions"], now, self._least)
            data: Mapping[str, Any] = self._ask(CONSOLIDATION, asked).data
            return data

        return dreams.edits_of(memories, opened_at_first(self._model, memories), ask) or ()

    def _ask(self, question: Question, document: Mapping[str, object]) -> Answer:
        prompt = load_prompt(question.prompt)
        ask = Ask(
            system=(Block(prompt.text, cache=True),),
            turns=(Turn(Role.USER, framed(document)),),
            purpose=question.purpose,
            key="replay",
            form=question.form,
            max_output_tokens=question.max_output_tokens,
        )
        answer = self._model.ask(ask)
        self._answered, self._prompt = answer.model, prompt.sha256
        return answer

    def _then(self, dream: Mapping[str, Any], store_id: str) -> Texts:
        """Return what the dream proposed, and what it wrote itself. Raises InvalidRequest: its texts are erased."""
        found: Texts = {}
        proposal = dream["x_memolith"]["proposal_id"]
        if proposal is not None:
            edits = self._api.get(address(store_id, "proposals", proposal))["edits"] or ()
            if not edits or any(one["path"] is None for one in edits):
                raise InvalidRequest("DREAM", "proposed edits whose texts are erased; there is nothing to compare with")
            for one in edits:
                found |= _effect(one["op"], one["path"], one["to"], one["content"])
        written = self._api.get(address(dream["id"], "changes", of=DREAMS))["data"]
        for one in written:
            version = self._api.get(address(store_id, "memory_versions", one["memory_version_id"]))
            deleted = version["operation"] == "deleted"
            moved = one["path"] != one["to"] and not deleted
            op = "delete" if deleted else "rename" if moved else "replace"
            found |= _effect(op, one["path"], one["to"], version["content"])
        return found


def _results(edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> Texts:
    """Return what edits make of the memories."""
    found: Texts = {}
    for one in edits:
        memory = memories.get(one.path)
        text = one.content if memory is None else dreams.new_text(one, memory)
        found |= _effect(one.op, one.path, one.to, text)
    return found


def _effect(op: str, path: str, to: str | None, text: str | None) -> Texts:
    """Return what is at a path after an edit; of a rename, where the memory went."""
    if op == "delete":
        return {path: None}
    return {path: f"-> {to}"} if op == "rename" else {path: text}


def _record(dream: Mapping[str, Any]) -> RunRecord:
    """Return what reading a dream's sessions takes of its record."""
    return RunRecord(
        workspace_id="",
        store_id=dream["inputs"][0]["memory_store_id"],
        run_id=dream["id"],
        sequence=1,
        status=DreamStatus(dream["status"]),
        created_at=parse_rfc3339(dream["created_at"]),
        created_by="",
        model=dream["model"]["id"],
        behavior=dream["output_behavior"]["type"],
        output_store_id=dream["inputs"][0]["memory_store_id"],
        session_id=dream["session_id"] or "",
        session_ids=tuple(dream["inputs"][1]["session_ids"]),
    )
