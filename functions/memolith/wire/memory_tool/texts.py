"""What the tool says. The literal strings are those of `anthropic` 2.12.0's local tool, so that a model meets the same.

docs/tools.md says where the answers differ; the strings under "Ours" are for what a file system does not do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memolith.core.trust import LETTERS, ORIGINS

MAX_LINES = 999_999
NUMBER_WIDTH = len(str(MAX_LINES))

DIRECTORY = "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
FILE = "Here's the content of {path} with line numbers:"
VIEW_MISSING = "The path {path} does not exist. Please provide a valid path."
TOO_MANY_LINES = "File {path} exceeds maximum line limit of 999,999 lines."
CLEARED = "All memory cleared"
CREATED = "File created successfully at: {path}"
EXISTS = "File {path} already exists"
REPLACED = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
NO_MATCH = "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
MANY_MATCHES = (
    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
    "Please ensure it is unique"
)
NOT_A_FILE = "The path {path} is not a file."
VANISHED = "The file {path} no longer exists (may have been deleted or renamed concurrently)."
INSERTED = "The file {path} has been edited."
INSERT_RANGE = "Invalid `insert_line` parameter: {line}. It should be within the range [0, {lines}]."
DELETED = "Successfully deleted {path}"
MISSING = "The path {path} does not exist"
DELETE_ROOT = "Cannot delete the /memories directory itself"
RENAMED = "Successfully renamed {old} to {new}"
DESTINATION_EXISTS = "The destination {path} already exists"
RENAME_ROOT = "Cannot rename the /memories directory itself"
PREFIX = "Path must start with /memories, got: {path}"
ESCAPE = "Path {path} would escape /memories directory"

# Ours.
UNKNOWN_COMMAND = "Unknown command: {command}. It must be one of {commands}."
NOT_AN_OBJECT = 'A command is an object such as {"command": "view", "path": "/memories"}.'
NO_PARAMETER = "The command {command} needs the parameter {name}."
NOT_A_STRING = "The parameter {name} must be a string of Unicode text."
NOT_A_NUMBER = "The parameter {name} must be a whole number."
FILE_IN_THE_WAY = "Cannot create {path}: {holder} is a file, not a directory."
INTO_ITSELF = "Cannot rename {old} to {new}: a path cannot be moved into itself."
CHANGED_MEANWHILE = (
    "No edit was made: somebody else changed the same lines of {path} meanwhile. View it again, then decide anew."
)
STILL_CONTENDED = "No edit was made: others kept changing {path}. Try again."
PART_DELETED = "Deleted {done} of {total} files under {path}"
PART_RENAMED = "Renamed {done} of {total} files from {old} to {new}"
PART_STAGED = "; {count} staged for approval as {id} and not done yet"
PART_FAILED = "; then {at}: {reason}. Repeat the command to go on."
REFUSED = "Refused: {reason}"
STAGED = "Staged for approval as {id}; it is not in memory yet."
UNANSWERED = "The memory store does not answer now ({reason}). Nothing is known to have changed; try again."
MAYBE_DONE = "The memory store does not answer now ({reason}). The change may have been made: look before trying again."
CUT = "\n\n(Cut here: this is as much as fits into one answer. View the rest with view_range, or a deeper directory.)"
REDACTED = (
    "\n\n({count} taken out before this was stored: {kinds}. Where a secret stood, the file now says [REDACTED:…]. "
    "Name the place where the secret is kept instead of writing it here.)"
)

# For who sets an agent up.
NO_STORE = "The {name} is missing or is none: it must be the id of a memory store, memstore_…"
NO_TOKEN = "The {name} is missing: it must be an API key (sk-memolith-…) or a session's token (st-memolith-…)"  # noqa: S105 - says that there is none
NO_TARGET = (
    "The gateway's target {name!r} is not set up: name it, with memory_store_id and token, "
    "in the secret memolith-{{stage}}-gateway of this region."
)
TARGETS_UNREADABLE = "The gateway's targets cannot be read now: {reason}"

AGED = (
    "\n\n(This memory was last changed {age}. It records what was true then: "
    "verify it against the present before asserting it as fact.)"
)

BELOW_AGENT = "\n\n(This memory is {origin}.)"

DAY_US = 24 * 3600 * 1_000_000
OCCURRENCES_SHOWN = 1_000
DIRECTORY_SIZE = "4K"
"""A directory has no size here; this is what most file systems say of a small one."""


class ToolFailure(Exception):
    """A command that failed; its text is for the model, as the content of a result that is an error."""


class Staged(ToolFailure):
    """A write that waits for a person, as one proposal or several; for the model it is no error.

    Args:
        told: what to say where something was done all the same.
    """

    def __init__(self, *ids: str, told: str = "") -> None:
        super().__init__(told or STAGED.format(id=", ".join(ids)))
        self.ids = ids


def unanswered(reason: object, *, maybe_done: bool) -> ToolFailure:
    """Make the failure of a request that was not answered. `maybe_done`: it was a change, and may have been made."""
    return ToolFailure((MAYBE_DONE if maybe_done else UNANSWERED).format(reason=reason))


def numbered(lines: Iterable[str], first: int) -> str:
    """Write lines as the tool shows them: the number to six places, a tab, the line."""
    return "\n".join(f"{str(number).rjust(NUMBER_WIDTH)}\t{line}" for number, line in enumerate(lines, first))


def file_view(path: str, content: str, view_range: object) -> str:
    """Show a file with line numbers, or a range of it. Only LF ends a line, so that CR and a last empty line show.

    Args:
        view_range: `[first, last]`, last -1 for the end; anything that is not a list of two is ignored.

    Raises:
        ToolFailure: too many lines, or a range that is not of whole numbers.
    """
    lines, first = content.split("\n"), 1
    if len(lines) > MAX_LINES:
        raise ToolFailure(TOO_MANY_LINES.format(path=path))
    if isinstance(view_range, Sequence) and not isinstance(view_range, str) and len(view_range) == 2:
        start, end = (whole_number(bound, "view_range") for bound in view_range)
        first = max(1, start)
        lines = lines[first - 1 : len(lines) if end == -1 else end]
    return f"{FILE.format(path=path)}\n{numbered(lines, first)}"


def directory_view(path: str, rows: Iterable[tuple[str, str]]) -> str:
    """Show a directory's rows, `(size, relative path)`, under its own; the path is echoed exactly as given."""
    lines = [f"{DIRECTORY_SIZE}\t{path}", *(f"{size}\t{path}/{relative}" for size, relative in rows)]
    return "\n".join([DIRECTORY.format(path=path), *lines])


def size_text(size_bytes: int) -> str:
    """Format a size: `0B`, `512B`, `4K`, `1.1K`: base 1024, one decimal where the number is not whole."""
    if size_bytes == 0:
        return "0B"
    power = min((size_bytes.bit_length() - 1) // 10, 3)
    size = size_bytes / 1024**power
    number = f"{int(size)}" if size == int(size) else f"{size:.1f}"
    return f"{number}{'BKMG'[power]}"


def age_remark(age_us: int) -> str:
    """Return a remark for content last changed more than a day ago: how long, and what that means; else nothing."""
    days = age_us // DAY_US
    if days < 1:
        return ""
    return AGED.format(age="yesterday" if days == 1 else f"{days} days ago")


def trust_remark(trust: str) -> str:
    """Return a remark for content of a class below an agent's: where it comes from; for any other class nothing."""
    origin = ORIGINS.get(LETTERS.get(trust, ""))
    return BELOW_AGENT.format(origin=origin) if origin else ""


def redaction_remark(kinds: Sequence[str]) -> str:
    """Return a remark for a write from which secrets were taken out, of these kinds; nothing for any other."""
    if not kinds:
        return ""
    count = "1 secret was" if len(kinds) == 1 else f"{len(kinds)} secrets were"
    return REDACTED.format(count=count, kinds=", ".join(dict.fromkeys(kinds)))


def whole_number(value: object, name: str) -> int:
    """Return the number. Raises ToolFailure for anything else, `True` and `1.5` among them."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ToolFailure(NOT_A_NUMBER.format(name=name))
    return value


def text(value: object, name: str) -> str:
    """Return the text. Raises ToolFailure for what is no text, or could not be stored as UTF-8."""
    if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
        raise ToolFailure(NOT_A_STRING.format(name=name))
    return value
