"""How a command fails: one line that says what is wrong and what to do about it."""

from __future__ import annotations

from cairn.core import errors

EXIT_FAILED = 1

_ADVICE: dict[type[errors.CairnError], str] = {
    errors.Unavailable: "Nothing was changed; try again, or look at the region with `cairn dev status` or the console.",
    errors.OutcomeUnknown: "It may have been done: look before repeating it.",
    errors.Busy: "Nothing was changed; try again.",
}


def explain(error: errors.CairnError) -> str:
    """The error's own message, and advice where there is any."""
    advice = _ADVICE.get(type(error), "")
    return f"error: {error.message}" + (f"\n{advice}" if advice else "")
