"""A stand-in without a model: deterministic, free, and on the machine. It reads cues, and it merges.

It answers the two forms of the pipelines from the document that their prompts carry. Every record of a run names it as
the model, so that its work is never taken for a model's. Its rules are imported with the first question, and not with
the start of every laptop.
"""

from __future__ import annotations

import json

from memolith.ports.model import Answer, AnswerForm, Ask, Model, Rejected, Usage, estimated_tokens

MODEL = "memolith-extractive-1"

WINDOW_TOKENS = 1_000_000


class ExtractiveModel:
    """`ports.model.Model` by rules. No tokens are used, because none are billed."""

    @property
    def window_tokens(self) -> int:
        """How much of a store and of sessions it is handed at once."""
        return WINDOW_TOKENS

    def ask(self, ask: Ask) -> Answer:
        """Answer from the document in the last turn that has one.

        Raises:
            Rejected: a form that no rules are for, or no document.
        """
        from memolith.core.pipelines.cues import extracted
        from memolith.core.pipelines.framing import unframed
        from memolith.core.pipelines.merging import consolidated

        rules = {AnswerForm.EXTRACTION: extracted, AnswerForm.CONSOLIDATION: consolidated}
        if ask.form not in rules:
            raise Rejected(f"{MODEL} answers extractions and consolidations only; set up a model for {ask.purpose}")
        for turn in reversed(ask.turns):
            try:
                document = unframed(turn.text)
            except ValueError:
                continue
            return Answer(json.dumps(rules[ask.form](document), ensure_ascii=False), Usage(), MODEL)
        raise Rejected(f"{MODEL} was asked without a document")

    def tokens(self, ask: Ask) -> int:
        """Return the estimate, which nothing is billed for."""
        return estimated_tokens(ask)


class ExtractiveModels:
    """`ports.model.Models` where nothing is set up: whatever is named, the stand-in answers, and says so."""

    def named(self, model_id: str) -> Model:
        """Return the stand-in, whose answers are held to their form as a model's are."""
        from memolith.adapters.models.validated import Validated

        return Validated(ExtractiveModel())
