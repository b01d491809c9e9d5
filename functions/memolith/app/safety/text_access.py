"""Reading the text of versions, each compared with the hash that was acknowledged (`memolith.app.log.verified_reads`).

A text goes to a caller only with what the verdicts say of it, which is asked for at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memolith.app.auth.authorizer import StoreAccess
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Withheld
from memolith.app.log.verified_reads import verified_entry
from memolith.app.safety.verdicts import Verdicts
from memolith.core.errors import Damaged
from memolith.core.integrity import Acknowledged
from memolith.core.log_position import LogRef
from memolith.core.objects.entry import Entry
from memolith.core.rows.safety import VerdictRow
from memolith.core.verdicts import withholdings


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A text to be shown: where it stands, its hash, and its version."""

    position: LogRef
    content_sha256: str
    version_id: str

    @property
    def acknowledged(self) -> Acknowledged:
        """What the text is compared with."""
        return Acknowledged(self.content_sha256, self.version_id)


@dataclass(frozen=True, slots=True)
class TextView:
    """A text as a caller may see it, why it is withheld if it is, and the rules that later verdicts flagged.

    `blank`: it was looked for, and has been erased. `damaged`: no region has a copy of it that is whole.
    """

    content: str | None = None
    withheld: Withheld | None = None
    flags: tuple[str, ...] = ()
    blank: bool = False
    damaged: Damaged | None = None


class TextReader:
    """Bodies of log objects as text."""

    def __init__(self, region: Region, verdicts: Verdicts) -> None:
        self._region = region
        self._verdicts = verdicts

    def show(self, access: StoreAccess, requests: Sequence[TextRequest]) -> list[TextView]:
        """Show several texts at once, in order; a withheld one only to an admin who asked for it.

        One index read and, beside it, a GET for each; more where a text has not arrived or is damaged. One round trip.

        Raises:
            Damaged: no region has a whole copy of one of them.
            Unavailable: a text is not here, and its home does not answer; or it is not known whether it may be shown.
        """
        views = self.show_each(access, requests)
        for view in views:
            if view.damaged is not None:
                raise view.damaged
        return views

    def show_each(self, access: StoreAccess, requests: Sequence[TextRequest]) -> list[TextView]:
        """Show texts as `show` does, for a listing: one that is damaged has no text, and does not stop the others."""
        if not requests:
            return []
        verdicts: dict[str, VerdictRow] = {}
        texts: list[str | None] = [None] * len(requests)
        damaged: dict[int, Damaged] = {}

        def read_verdicts() -> None:
            verdicts.update(self._verdicts.of(access.view, access.store, [one.content_sha256 for one in requests]))

        def fetch(number: int) -> None:
            one = requests[number]
            try:
                texts[number] = self.read(access.store.store_id, one.position, one.acknowledged)
            except Damaged as error:
                damaged[number] = error

        tasks: list[Callable[[], None]] = [partial(fetch, number) for number in range(len(requests))]
        self._region.parallel.run([*tasks, read_verdicts])
        return [
            self._view(access, texts[number], verdicts.get(one.content_sha256), damaged.get(number))
            for number, one in enumerate(requests)
        ]

    def _view(
        self, access: StoreAccess, text: str | None, verdict: VerdictRow | None, damaged: Damaged | None
    ) -> TextView:
        view = text_view(text, verdict, access.sees_withheld)
        return view if damaged is None else replace(view, blank=False, damaged=damaged)

    def read(self, store_id: str, position: LogRef, acknowledged: Acknowledged) -> str | None:
        """Return the text at a position; None once it has been blanked. Costs and raises as `entry`."""
        found = self.entry(store_id, position, acknowledged)
        return None if found is None else found[1]

    def entry(self, store_id: str, position: LogRef, acknowledged: Acknowledged) -> tuple[Entry, str] | None:
        """Return an entry and its text. See `verified_entry`."""
        return verified_entry(self._region, position.key_in(store_id), acknowledged)


def withheld_by(row: VerdictRow | None) -> Withheld | None:
    """Return why the text of this row is withheld; None if it is not."""
    marks = withholdings(row)
    if not marks:
        return None
    rules = dict.fromkeys(rule for mark in marks for rule in mark.rules)
    return Withheld(marks[0].reason, tuple(rules), marks[0].decided_at)


def text_view(text: str | None, verdict: VerdictRow | None, sees_withheld: bool) -> TextView:
    """Return what a caller sees of a text that was found (None: erased), given its verdicts."""
    withheld = withheld_by(verdict)
    flags = tuple(verdict.flags or ()) if verdict is not None else ()
    return TextView(text if withheld is None or sees_withheld else None, withheld, flags, blank=text is None)


def within_budget(sizes_bytes: Sequence[int], budget_bytes: int) -> int:
    """Count how many of the first texts fit into one answer; at least one, so that a listing always moves on."""
    total = 0
    for count, size_bytes in enumerate(sizes_bytes):
        total += size_bytes
        if total > budget_bytes and count > 0:
            return count
    return len(sizes_bytes)
