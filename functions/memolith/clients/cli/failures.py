"""How a command fails: what is wrong and what to do about it on standard error, and an exit code that says which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

from memolith.clients.working_copy.store_client import Damaged, Denied, Gone, NoAnswer, StoreClientError
from memolith.core import errors
from memolith.ports.backup_places import PlaceMissing, PlaceUnanswered
from memolith.wire.errors import message_of, says_not_done


class Exit(IntEnum):
    """What a command's exit code means; docs/cli.md says it to people. ``scan`` has its own three."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    IN_PART = 3
    NOT_FOUND = 4
    CONFLICT = 5
    SCANNER = 6
    KEY = 7
    NO_ANSWER = 8
    UNKNOWN = 9


class ApiFailed(errors.MemolithError):
    """The API refused, or did not answer.

    Attributes:
        exit: the command's exit code.
        advice: what to do about it; may be empty.
    """

    def __init__(self, message: str, exit: Exit, advice: str = "") -> None:
        super().__init__(message)
        self.exit = exit
        self.advice = advice


AGAIN = "the same command, run again, continues"
GOES_ON = "standard error says how to go on"
"""Of a command that would begin anew if it were run again: it prints another one."""


class DoneInPart(errors.MemolithError):
    """A command stopped after it had changed something; the message says what stopped it.

    Attributes:
        advice: what to do about it.
    """

    exit = Exit.IN_PART

    def __init__(self, message: str, advice: str = f"What was done stays; {AGAIN}.") -> None:
        super().__init__(message)
        self.advice = advice


_EXITS: dict[type[errors.MemolithError], Exit] = {
    errors.InvalidRequest: Exit.USAGE,
    errors.NotFound: Exit.NOT_FOUND,
    errors.PathConflict: Exit.CONFLICT,
    errors.PreconditionFailed: Exit.CONFLICT,
    errors.Unauthenticated: Exit.KEY,
    errors.PermissionDenied: Exit.KEY,
    errors.Busy: Exit.NO_ANSWER,
    errors.Damaged: Exit.FAILED,
    errors.Unavailable: Exit.NO_ANSWER,
    errors.OutcomeUnknown: Exit.UNKNOWN,
    PlaceMissing: Exit.NOT_FOUND,
    PlaceUnanswered: Exit.NO_ANSWER,
}
CHECK_FIRST = "It may have been done: check before you repeat it."
_ADVICE: dict[type[errors.MemolithError], str] = {
    errors.Unavailable: (
        "Nothing was changed. Try again; of a deployment, `memolith index status` shows how each region is."
    ),
    errors.OutcomeUnknown: CHECK_FIRST,
    errors.Busy: "Nothing was changed. Try again.",
}
_NOT_NOW = (Exit.NO_ANSWER, "Nothing was changed. Try again.")
_SERVER_ERROR = 500
_REFUSALS: dict[str, tuple[Exit, str]] = {
    "authentication_error": (
        Exit.KEY,
        "`memolith keys create` makes a key; give it as --api-key or ANTHROPIC_API_KEY.",
    ),
    "permission_error": (Exit.KEY, "`memolith keys create --scope …` makes a key that may do it."),
    "not_found_error": (Exit.NOT_FOUND, ""),
    "memory_path_conflict_error": (Exit.CONFLICT, "Choose another path; `memolith ls STORE` lists what is taken."),
    "memory_precondition_failed_error": (
        Exit.CONFLICT,
        "Nothing was changed. Another writer changed it: run `memolith diff STORE PATH`, read it, and do it again.",
    ),
    "memory_damaged_error": (
        Exit.FAILED,
        "`memolith repair` restores it where a whole copy is left; a laptop's with --root.",
    ),
    "memory_snapshot_incomplete_error": (Exit.NO_ANSWER, ""),
    "conflict_error": (Exit.NO_ANSWER, "Nothing was changed. Run it again once that has ended."),
    "rate_limit_error": (Exit.NO_ANSWER, "Nothing was changed. Try again in a minute."),
    "memory_budget_error": (Exit.NO_ANSWER, "Nothing was changed. Run it again tomorrow (days are UTC's)."),
    "overloaded_error": _NOT_NOW,
    "timeout_error": (Exit.UNKNOWN, CHECK_FIRST),
}
_LISTED_BY = {
    "api_key": "memolith keys list",
    "divergent_version": "memolith divergent list",
    "dream": "memolith dream list",
    "memory": "memolith ls STORE",
    "memory_store": "memolith stores list",
    "memory_version": "memolith log STORE",
    "proposal": "memolith proposals list STORE",
    "quarantined_text": "memolith quarantine list STORE",
    "session": "memolith sessions list",
}
"""The first word of "… was not found" to the command that shows what there is."""


def refusal(status: int, body: object, *, maybe_done: bool = False) -> ApiFailed:
    """Make the error with which a command reports an error response.

    Args:
        status: the HTTP status.
        body: the answer's JSON, or whatever came instead.
        maybe_done: the request was a write, and the response does not say that it was not done.
    """
    told = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(told, Mapping):
        exit_code, advice = (Exit.FAILED, "Is the address right?")
        if maybe_done:
            exit_code, advice = Exit.UNKNOWN, CHECK_FIRST
        elif says_not_done(status, "") or status >= _SERVER_ERROR:
            exit_code, advice = Exit.NO_ANSWER, "Nothing was changed. Try again; is the address right?"
        return ApiFailed(f"the answer was a {status}, and not as Memolith answers", exit_code, advice)
    message, kind = message_of(told), str(told.get("type"))
    if findings := told.get("findings"):
        return ApiFailed(message, Exit.SCANNER, _findings(findings))
    if kind == "api_error" and status == 503:
        kind = "overloaded_error"
    exit_code, advice = _REFUSALS.get(kind, _NOT_NOW if says_not_done(status, kind) else (Exit.FAILED, ""))
    if maybe_done and (kind == "api_error" or exit_code is Exit.NO_ANSWER):
        exit_code, advice = _REFUSALS["timeout_error"]
    if kind == "not_found_error":
        advice = _listing(message)
    return ApiFailed(message, exit_code, advice)


def _listing(message: str) -> str:
    """Name the command that lists what there is, for an error "… was not found"; an empty text where none does."""
    command = _LISTED_BY.get(message.partition(" ")[0])
    return f"`{command}` lists what exists." if command else ""


def unanswered(error: StoreClientError, advice: str = "") -> ApiFailed:
    """Make the error of a command whose request to a store failed without a response to report."""
    exits = {Gone: Exit.NOT_FOUND, Denied: Exit.KEY, Damaged: Exit.FAILED, NoAnswer: Exit.NO_ANSWER}
    return ApiFailed(error.message, exits.get(type(error), Exit.FAILED), advice)


def _findings(findings: Sequence[Mapping[str, Any]]) -> str:
    """Write a line for each, with its place and what would mend it; never the text."""
    lines = ["Nothing was changed. The safety scanner says:"]
    for one in findings:
        place = f"line {one['line']}, column {one['column']}" if one.get("line") else "path"
        lines.append(f"  {one['rule']} ({one['severity']}), {place}: {one['reason'].rstrip('.')}. {one['remedy']}")
    return "\n".join(lines)


def exit_of(error: errors.MemolithError) -> Exit:
    """Return the exit code of a command that ends with this."""
    return error.exit if isinstance(error, (ApiFailed, DoneInPart)) else _EXITS.get(type(error), Exit.FAILED)


_NOTHING_DONE = (Exit.USAGE, Exit.CONFLICT, Exit.NO_ANSWER)
"""The exit codes that say that nothing was changed."""


@contextmanager
def once_changed(changed: object = True, continues: str = AGAIN) -> Iterator[None]:
    """Translate what stops a command once it has changed something: no error may say any more that nothing was.

    Args:
        changed: true once something was; asked when the block has stopped, so that it may be a list that fills.
        continues: how the rest is done.

    Raises:
        DoneInPart: for what would have said so.
    """
    try:
        yield
    except errors.MemolithError as error:
        if changed and exit_of(error) in _NOTHING_DONE:
            raise DoneInPart(error.message, f"What was done stays; {continues}.") from error
        raise


def explain(error: errors.MemolithError) -> str:
    """Return the error's own message, and advice where there is any."""
    if isinstance(error, (ApiFailed, DoneInPart)):
        advice = error.advice
    else:
        advice = _listing(error.message) if isinstance(error, errors.NotFound) else _ADVICE.get(type(error), "")
    return f"error: {error.message}" + (f"\n{advice}" if advice else "")


_EXTRAS = {
    "anthropic": "sdk",
    "boto3": "cli",
    "botocore": "cli",
    "httpx2": "mount",
    "hyperscan": "local",
    "mcp": "mcp",
    "mfusepy": "mount",
    "pathspec": "local",
    "pydantic": "local",
    "waitress": "local",
}
"""Package to the extra that installs it."""


def explain_missing(error: ModuleNotFoundError) -> str:
    """Say which package a command lacks here, and how to install it."""
    package = (error.name or "").partition(".")[0]
    if package == "memolith" or not package:
        return explain_defect(error)
    extra = _EXTRAS.get(package, "cli")
    return f"error: this command needs {package}, which is not installed: pip install '.[{extra}]' in the checkout"


def explain_os(error: OSError) -> str:
    """Say what the operating system refused; without a file it was what the command prints."""
    what = "standard output" if error.filename is None else str(error.filename)
    return f"error: {what} cannot be used: {error.strerror or type(error).__name__}"


def explain_defect(error: Exception) -> str:
    """Describe an error that no command expects by its kind and place; its text may quote a memory, and is left out."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = "" if at is None else f" at {Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"
    return (
        f"error: a defect of Memolith: {type(error).__name__}{place}\n"
        "It may have been done: check before you repeat it. Please report this, with the command that you ran."
    )
