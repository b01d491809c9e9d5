"""What a dream keeps of its questions and its plan, and reads again when it is taken up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memolith.core.objects.proposal_record import PlannedWrite
from memolith.core.objects.run_record import RunRecord
from memolith.core.objects.schema import known
from memolith.core.pipelines.dreams import DreamedMemory, Edit
from memolith.ports.model import Answer, Usage

USED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cost_micro_usd",
    "asks",
    "model_answered",
    "prompt_sha256",
)
"""What a record says of the questions that were asked."""

COUNTED = ("created", "changed", "deleted", "conflicts")
"""What a record says of the edits that were carried out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be proposed and what is to be written, of memories as they were read; `ids` are of what is written."""

    reviewed: tuple[Edit, ...]
    written: tuple[Edit, ...]
    ids: tuple[PlannedWrite, ...]
    memories: Mapping[str, DreamedMemory]
    dropped: tuple[str, ...] = ()

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All of it."""
        return (*self.reviewed, *self.written)


def question_name(model: str, prompt_sha256: str, document: Mapping[str, object]) -> str:
    """Return the name of a question: one about anything else, the time apart, has another, and so has no answer yet."""
    asked = {name: value for name, value in document.items() if name != "now"}
    text = json.dumps([model, prompt_sha256, asked], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def answer_to_keep(answer: Answer, number: int) -> dict[str, Any]:
    """Return what is kept of an answer; `number` counts those that the dream had before."""
    return {
        "number": number,
        "data": answer.data,
        "usage": asdict(answer.usage),
        "model": answer.model,
        "cost_micro_usd": answer.cost_micro_usd,
    }


def kept_answer(kept: Mapping[str, Any]) -> Answer:
    """Return the answer that was kept, with what it cost."""
    usage = Usage(**kept["usage"])
    return Answer("", usage, kept["model"], data=kept["data"], cost_micro_usd=kept["cost_micro_usd"])


def is_counted(kept: Mapping[str, Any], record: RunRecord) -> bool:
    """Tell whether a record has counted what a kept answer took; none of an earlier release, which has no number."""
    return int(kept.get("number", record.asks)) < record.asks


def kept_plan(record: RunRecord, plan: Plan) -> dict[str, Any]:
    """Return what is kept of a plan: its edits, what was read, with the texts that they touch, and what it took.

    It keeps what was counted before it, of a plan that an erasure took: its own edits are counted in addition.
    """
    touched = {one.path for one in plan.edits}
    return {
        "reviewed": [asdict(one) for one in plan.reviewed],
        "written": [asdict(one) for one in plan.written],
        "ids": [asdict(one) for one in plan.ids],
        "memories": [asdict(one if path in touched else replace(one, text="")) for path, one in plan.memories.items()],
        "dropped": list(plan.dropped),
        "used": {name: getattr(record, name) for name in USED},
        "counted": {name: getattr(record, name) for name in COUNTED},
    }


def resumed(record: RunRecord, kept: Mapping[str, Any]) -> tuple[RunRecord, Plan]:
    """Return the plan that was kept, and the record of then: with what its questions took, and none of its edits.

    One of an earlier release has no ids: what was written of it is written again, or is a conflict. A record of such a
    release counts no edits before its dream is over.
    """
    memories = {one["path"]: DreamedMemory(**known(DreamedMemory, one)) for one in kept["memories"]}
    written = _edits(kept["written"])
    no_ids = [{"number": number, "memory_id": "", "version_id": ""} for number, _ in enumerate(written, 1)]
    ids = tuple(PlannedWrite(**known(PlannedWrite, one)) for one in kept.get("ids", no_ids))
    plan = Plan(_edits(kept["reviewed"]), written, ids, memories, tuple(kept["dropped"]))
    counted = kept.get("counted", dict.fromkeys(COUNTED, 0))
    return replace(record, **kept["used"], **counted), plan


def _edits(kept: Sequence[Mapping[str, Any]]) -> tuple[Edit, ...]:
    return tuple(Edit(**{**known(Edit, one), "sources": tuple(one["sources"])}) for one in kept)
