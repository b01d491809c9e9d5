"""No models: for functions that ask none."""

from __future__ import annotations

from memolith.ports.model import Model, Models, Rejected


class _NoModels:
    def named(self, model_id: str) -> Model:
        """Raise Rejected."""
        raise Rejected("no model is set up here")


NO_MODELS: Models = _NoModels()
