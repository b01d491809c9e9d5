"""What transcripts, extraction and dreams cost beside their models: each with the stand-in, which takes no time."""

from __future__ import annotations

from functools import partial

from memolith.app.api.dreams import DreamRequest
from memolith.app.api.transcripts import EventDraft
from memolith.core.objects.run_record import PROPOSE
from scripts.costing.agents import _begin
from scripts.costing.paths import Path, Played

EVENTS = 20
LEASE_US = 60_000_000
TAUGHT = "Always deploy the engine on Thursdays."


def _report(played: Played, taught: str | None = None) -> None:
    """Report a turn of a session: messages of a hundred characters."""
    texts = [f"{number:03d} " + "and so on " * 10 for number in range(EVENTS)]
    texts[-1] = taught or texts[-1]
    drafts = [
        EventDraft("user.message", {"content": [{"type": "text", "text": text}]}, str(number))
        for number, text in enumerate(texts)
    ]
    played.home.transcripts.record(played.call, played.session, drafts)


def _begun(played: Played, taught: str | None = None) -> None:
    _begin(played)
    _report(played, taught)
    played.cloud.deliver()


def _taught(played: Played) -> None:
    _begun(played, TAUGHT)


def _extract(played: Played, outcome: str) -> None:
    found = played.home.extractions.extract(played.call, played.session).outcome
    if found != outcome:
        raise ValueError(f"the extraction's outcome is {found}, not {outcome}")


def _extracted(played: Played) -> None:
    _taught(played)
    _extract(played, "proposed")
    played.cloud.deliver()


def _asked(played: Played) -> None:
    """Ask for a dream, which waits."""
    _taught(played)
    request = DreamRequest(played.store, [played.session], "stand-in", behavior=PROPOSE)
    played.dream = played.home.dreams.create(played.call, request).run_id
    played.cloud.deliver()


def _dream(played: Played) -> None:
    played.home.dream_runner(LEASE_US).take_up(played.dream)
    if played.home.dreams.retrieve(played.call, played.dream).proposal_id is None:
        raise ValueError("the dream proposes nothing")


PIPELINES = (
    Path(f"{EVENTS} events, reported in one call", _report, before=_begin),
    Path(
        f"a session of {EVENTS} events, extracted: nothing to keep",
        partial(_extract, outcome="no_output"),
        before=_begun,
    ),
    Path("the same, with a note that is proposed", partial(_extract, outcome="proposed"), before=_taught),
    Path("the same again, with nothing said since", partial(_extract, outcome="unchanged"), before=_extracted),
    Path("a dream of 20 memories and one session, which proposes", _dream, "dreamer", before=_asked, by_http=False),
)
