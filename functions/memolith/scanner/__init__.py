"""The safety scanner: what a text or a path says that no memory should hold. Pure: text in, findings out.

A memory is read by later sessions as trusted text, so a planted sentence works for ever. `Scanner.scan` looks for
hostile paths, characters that hide or reorder text, secrets, phrases that turn a reader's instructions around, and
commands that carry secrets away. It is one layer and no more: `docs/security.md` says what it cannot see.
"""

from typing import TYPE_CHECKING

from memolith.scanner.findings import (
    Family,
    Finding,
    Policy,
    RedactedSecret,
    Report,
    Secrets,
    Severity,
    Verdict,
)
from memolith.scanner.redaction import Redacted

if TYPE_CHECKING:
    from memolith.scanner.database import build_database
    from memolith.scanner.scanner import Scanner, Status
    from memolith.scanner.secrets import ScannerUnavailableError

__all__ = [
    "Family",
    "Finding",
    "Policy",
    "Redacted",
    "RedactedSecret",
    "Report",
    "Scanner",
    "ScannerUnavailableError",
    "Secrets",
    "Severity",
    "Status",
    "Verdict",
    "build_database",
]


def __getattr__(name: str) -> object:
    """Load what needs third-party libraries when it is first asked for, so that findings alone are cheap."""
    if name in ("Scanner", "Status"):
        from memolith.scanner import scanner

        return getattr(scanner, name)
    if name == "build_database":
        from memolith.scanner.database import build_database

        return build_database
    if name == "ScannerUnavailableError":
        from memolith.scanner.secrets import ScannerUnavailableError

        return ScannerUnavailableError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
