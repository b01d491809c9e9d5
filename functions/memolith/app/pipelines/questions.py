"""The kinds of questions that dreams ask a model."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.ports.model import AnswerForm, Purpose


@dataclass(frozen=True, slots=True)
class Question:
    """A kind of question: its prompt, its form, and how long the answer may be."""

    prompt: str
    purpose: Purpose
    form: AnswerForm
    max_output_tokens: int


EXTRACTION = Question("extract.v1", Purpose.EXTRACT, AnswerForm.EXTRACTION, 8_192)
CONSOLIDATION = Question("consolidate.v1", Purpose.CONSOLIDATE, AnswerForm.CONSOLIDATION, 32_000)
