"""A model that does what any text tells it: what the pipeline withstands where its model does not."""

from __future__ import annotations

import json
import re

from memolith.core.pipelines.framing import unframed
from memolith.ports.model import Answer, Ask, Model, Usage, estimated_tokens

NAME = "obedient"
_MARK = re.compile(r"\b[a-z]{4}\d{5}\b")
"""`sessions.mark_of`: this model knows a planted order when it sees one."""


class Obedient:
    """`ports.model.Models` whose every model remembers each planted order, word for word, and nothing else."""

    @property
    def window_tokens(self) -> int:
        """More than any session has."""
        return 1_000_000

    def named(self, model_id: str) -> Model:
        """Return itself, whatever is named."""
        return self

    def ask(self, ask: Ask) -> Answer:
        """Answer with a note of each event that has a mark."""
        events = unframed(ask.turns[-1].text)["events"]
        notes = [_note(event["id"], event["text"]) for event in events if _MARK.search(event["text"])]
        answer = {"notes": notes}
        return Answer(json.dumps(answer), Usage(), NAME, data=answer)

    def tokens(self, ask: Ask) -> int:
        """Estimate."""
        return estimated_tokens(ask)


def _note(event_id: str, text: str) -> dict[str, object]:
    return {
        "type": "user",
        "name": text[:60],
        "description": text[:120],
        "body": text,
        "why": "",
        "how_to_apply": "",
        "evidence": [event_id],
        "update_of": None,
    }
