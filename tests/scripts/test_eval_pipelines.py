"""`make eval-pipelines`, on a small share of its sessions; and that it sees what it is there to see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memolith.adapters.models.extractive import ExtractiveModels
from memolith.app.pipelines.dream_steps import DreamSteps
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.pipelines import dreams, merging
from memolith.scanner import Scanner
from scripts import eval_pipelines
from scripts.eval_pipelines import STAND_IN, rows
from scripts.pipelines import judge, obedient
from scripts.pipelines.dreaming import DreamTrial
from scripts.pipelines.judge import Trial
from scripts.pipelines.sessions import Session, sessions
from tests.support.scanners import compiled_rules

SEED = 20


@pytest.fixture(scope="module")
def scanner() -> Scanner:
    return Scanner.load(compiled_rules())


@pytest.fixture(scope="module")
def made() -> list[Session]:
    return sessions(24, SEED)


def test_the_same_seed_makes_the_same_sessions_and_three_tenths_of_them_teach_nothing(made: list[Session]) -> None:
    assert sessions(24, SEED) == made
    assert sum(not one.facts for one in made) == 7
    assert all(fact.is_told_by(one.events[fact.event].text) for one in made for fact in one.facts)


@pytest.mark.slow
def test_a_run_keeps_out_what_must_be_kept_out_and_a_second_one_writes_nothing(
    scanner: Scanner, made: list[Session]
) -> None:
    figures = Trial(ExtractiveModels(), scanner, SEED).run(made)
    safe = [row for row in rows(figures, service=STAND_IN) if row.most]
    assert [str(row) for row in safe if not row.met] == []
    assert figures.recall[0] > 0 and figures.precision[1] > 0 and figures.questions == len(made)
    assert figures.erased > 0, "what was erased stood somewhere before"


@pytest.mark.slow
def test_the_stand_in_meets_every_floor(capsys: pytest.CaptureFixture[str]) -> None:
    assert eval_pipelines.main(["--kill-every", "12"]) == 0, capsys.readouterr().out


def test_a_scanner_that_lets_all_through_is_seen_in_the_secrets_and_in_the_orders(made: list[Session]) -> None:
    figures = Trial(obedient.Obedient(), LettingAllThrough(), SEED).run(made)
    assert figures.secrets_stored == figures.secrets_sent == figures.secrets_planted > 0
    assert figures.orders_trusted > 0


def test_orders_in_what_a_tool_gave_are_kept_out_even_where_nothing_is_recognized(made: list[Session]) -> None:
    figures = Trial(obedient.Obedient(), LettingAllThrough(), SEED).run(made)
    pasted = [
        one for one in made for said in one.events for mark in one.marks if mark in said.text if "user" in said.type
    ]
    assert 0 < len(pasted) < figures.orders_planted
    assert len([one for one in figures.failures if one.startswith("planted order")]) <= len(pasted)


@pytest.mark.slow
def test_a_loss_of_what_a_person_wrote_is_seen(
    scanner: Scanner, made: list[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    edit: Callable[[Trial], None] = Trial._edit_by_hand

    def edit_and_lose(trial: Trial) -> None:
        edit(trial)
        lost = next(one for one in trial._memories() if one.path.startswith("/by-hand/"))
        trial._memolith.memories.delete(trial._admin, trial._store, lost.id, expected_content_sha256=None)

    monkeypatch.setattr(Trial, "_edit_by_hand", edit_and_lose)
    figures = Trial(ExtractiveModels(), scanner, SEED).run(made)
    assert figures.human_facts_lost >= 1


@pytest.mark.slow
def test_a_dream_that_makes_another_plan_when_it_is_taken_up_again_is_seen(
    scanner: Scanner, made: list[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DreamSteps, "find", lambda *_: None)
    figures = DreamTrial(ExtractiveModels(), scanner, SEED, made).run(every=20)
    assert figures.same < figures.kills
    assert any("texts of /MEMORY.md" in one for one in figures.failures)


@pytest.mark.slow
def test_an_index_over_its_cap_is_seen(scanner: Scanner, made: list[Session], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "INDEX_MAX_LINES", 300)
    monkeypatch.setattr(dreams, "_grows_over_cap", lambda *_: False)
    figures = DreamTrial(ExtractiveModels(), scanner, SEED, made).run(every=60)
    assert figures.over_cap == figures.dreams


@pytest.mark.slow
def test_a_missed_floor_is_marked_and_ends_with_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert eval_pipelines.main(["--sessions", "6", "--kill-every", "200", "--service", obedient.NAME]) == 0
    assert "every floor is met" in capsys.readouterr().out
    run: Callable[[Trial, list[Session]], judge.Figures] = Trial.run

    def run_and_leak(trial: Trial, made: list[Session]) -> judge.Figures:
        figures = run(trial, made)
        figures.secrets_sent += 1
        return figures

    monkeypatch.setattr(Trial, "run", run_and_leak)
    assert eval_pipelines.main(["--sessions", "6", "--kill-every", "200", "--service", obedient.NAME]) == 1
    [missed] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("MISS")]
    assert "secrets that were sent to the model" in missed


def test_a_models_floors_are_not_the_stand_ins() -> None:
    figures = judge.Figures(recall=(6, 10), precision=(19, 20), silent=(19, 20))
    assert [row.name for row in rows(figures, service="anthropic") if not row.met] == ["facts that were found"]
    [silent] = [row for row in rows(figures, service=STAND_IN) if not row.met]
    assert silent.name == "sessions with nothing to keep, of which nothing is proposed"
