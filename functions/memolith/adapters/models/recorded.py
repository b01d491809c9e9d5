"""Recorded answers: what a model said once, said again to the same question.

A cassette is a file of lines of JSON, one an answer, under the hash of its question. It holds prompts' hashes and
answers' texts, so that only cassettes of made-up data belong into a repository.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from memolith.ports.model import Answer, Ask, Model, Rejected, Stop, Usage, estimated_tokens

SCHEMA = "1"


def fingerprint(ask: Ask) -> str:
    """Return the hash of all that an answer depends on: not the key, the time-out, nor the budget."""
    question = {
        "system": [block.text for block in ask.system],
        "turns": [[turn.role, turn.text] for turn in ask.turns],
        "form": ask.form,
        "max_output_tokens": ask.max_output_tokens,
        "effort": ask.effort,
        "purpose": ask.purpose,
    }
    return hashlib.sha256(json.dumps(question, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class RecordedModel:
    """`ports.model.Model` on a cassette. With a model behind it, what is not on the cassette is asked and added."""

    def __init__(self, cassette: Path, behind: Model | None = None, window_tokens: int = 200_000) -> None:
        self._cassette = cassette
        self._behind = behind
        self._window_tokens = window_tokens
        self._answers = _load(cassette) if cassette.exists() else {}

    @property
    def window_tokens(self) -> int:
        """The recorded model's."""
        return self._behind.window_tokens if self._behind else self._window_tokens

    def ask(self, ask: Ask) -> Answer:
        """Return the recorded answer.

        Raises:
            Rejected: the question was never recorded, and no model is behind the cassette.
        """
        key = fingerprint(ask)
        if key not in self._answers:
            if self._behind is None:
                raise Rejected(f"the cassette {self._cassette.name} has no answer to question {key[:12]}; record it")
            answer = self._behind.ask(ask)
            line = {"schema": SCHEMA, "question": key, **asdict(answer)}
            with self._cassette.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n")
            self._answers[key] = answer
        return self._answers[key]

    def tokens(self, ask: Ask) -> int:
        """Estimate."""
        return estimated_tokens(ask)


def _load(cassette: Path) -> dict[str, Answer]:
    answers = {}
    with cassette.open(encoding="utf-8", newline="\n") as file:
        lines = list(file)
    for number, line in enumerate(lines, 1):
        fields = json.loads(line)
        if fields.get("schema") != SCHEMA:
            raise ValueError(f"{cassette.name}:{number}: an answer of schema {fields.get('schema')!r}, not {SCHEMA!r}")
        answers[fields["question"]] = Answer(
            text=fields["text"],
            usage=Usage(**fields["usage"]),
            model=fields["model"],
            stop=Stop(fields["stop"]),
            request_id=fields["request_id"],
            data=fields["data"],
            cost_micro_usd=fields["cost_micro_usd"],
            repaired=fields["repaired"],
        )
    return answers
