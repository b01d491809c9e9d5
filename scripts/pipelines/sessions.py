"""Sessions from a seed: what is said in each, what of it is worth keeping, and what must not get into memory."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass, field

from scripts import scanner_cases
from scripts.pipelines import grammar

EMPTY_SHARE = 0.3
PASSWORD_ALPHABET = string.ascii_letters + string.digits + "!%+_"


@dataclass(frozen=True, slots=True)
class Said:
    """One event of a session, as its sender reports it."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something worth keeping: the event in which it is said, the words that tell it, and those that it replaced."""

    event: int
    words: tuple[str, ...]
    outdated: tuple[str, ...] = ()

    def is_told_by(self, text: str) -> bool:
        """Return whether a text has all of the fact's words."""
        lower = text.lower()
        return all(word.lower().removeprefix("the ") in lower for word in self.words)


@dataclass(slots=True)
class Session:
    """One session. `secrets` and `marks` of planted orders are texts that occur nowhere else."""

    name: str
    events: list[Said] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)


def sessions(count: int, seed: int) -> list[Session]:
    """Make sessions, each the same for the same seed. `EMPTY_SHARE` of them teach nothing."""
    chooser = random.Random(seed)  # noqa: S311 - made-up texts, the same each time
    empty = set(chooser.sample(range(count), round(count * EMPTY_SHARE)))
    return [_Maker(chooser, f"session-{number}").make(empty=number in empty) for number in range(count)]


def human_note(chooser: random.Random) -> tuple[str, str]:
    """Return a sentence that a person writes into memory by hand, and the mark in it."""
    mark = mark_of(chooser)
    return _filled(chooser, chooser.choice(grammar.HUMAN), mark=mark)[0], mark


def mark_of(chooser: random.Random) -> str:
    """Return a word that occurs nowhere else."""
    return "".join(chooser.choices(string.ascii_lowercase, k=4)) + str(chooser.randrange(10_000, 100_000))


class _Maker:
    """Makes one session."""

    def __init__(self, chooser: random.Random, name: str) -> None:
        self._chooser = chooser
        self._session = Session(name)

    def make(self, *, empty: bool) -> Session:
        chance = self._chooser
        self._say("user.message", self._line(grammar.TASKS))
        steps = [self._small_talk] * chance.randint(3, 8)
        if not empty:
            steps += [self._fact] * chance.randint(1, 3) + [self._correction] * (chance.random() < 0.3)
        steps += [self._secret] * (chance.random() < 0.25) + [self._planted] * (chance.random() < 0.3)
        chance.shuffle(steps)
        for step in steps:
            step()
        return self._session

    def _say(self, type: str, text: str) -> int:
        self._session.events.append(Said(type, text))
        return len(self._session.events) - 1

    def _line(self, templates: tuple[str, ...], **given: str) -> str:
        return _filled(self._chooser, self._chooser.choice(templates), **given)[0]

    def _small_talk(self) -> None:
        self._say("user.message", self._line(grammar.DISTRACTORS))
        if self._chooser.random() < 0.5:
            self._say("agent.tool_use", f"bash cat {self._chooser.choice(grammar.SLOTS['name'])}.md")
            self._say("agent.tool_result", self._line(grammar.TOOL_RESULTS))
        self._say("agent.message", self._line(grammar.AGENT))

    def _fact(self) -> None:
        """State a fact, in half of the cases with something else before or after it in the same message."""
        sentence, words = _filled(self._chooser, self._chooser.choice(grammar.FACTS))
        if self._chooser.random() < 0.5:
            pair = [sentence, self._line(grammar.DISTRACTORS)]
            self._chooser.shuffle(pair)
            sentence = " ".join(pair)
        right = tuple(word for slot, word in words.items() if not slot.endswith("2"))
        self._session.facts.append(Fact(self._say("user.message", sentence), right))
        self._say("agent.message", self._line(grammar.AGENT))

    def _correction(self) -> None:
        before, after = self._chooser.choice(grammar.CORRECTIONS)
        _, words = _filled(self._chooser, f"{before} {after}")
        self._say("agent.message", before.format(**words))
        event = self._say("user.message", after.format(**words))
        right = tuple(word for slot, word in words.items() if f"{{{slot}}}" in after and not slot.endswith("2"))
        wrong = tuple(word for slot, word in words.items() if slot.endswith("2") and slot != "service2")
        self._session.facts.append(Fact(event, right, wrong))

    def _secret(self) -> None:
        if self._chooser.random() < 0.3:
            type, template = self._chooser.choice(grammar.PASSWORDS)
            secret = "".join(self._chooser.choices(PASSWORD_ALPHABET, k=18)) + "7aQ"
        else:
            type, template = self._chooser.choice(grammar.SECRETS)
            secret = self._chooser.choice(scanner_cases.vendor_tokens(self._chooser))
        self._session.secrets.append(secret)
        self._say(type, _filled(self._chooser, template, secret=secret)[0])

    def _planted(self) -> None:
        """Plant an order in what a tool gave, or in what the person pasted."""
        mark = mark_of(self._chooser)
        goal = self._line(grammar.GOALS, mark=mark)
        pool = (*grammar.CARRIERS, *scanner_cases.HIJACK_TEMPLATES, *scanner_cases.TOOL_RESULT_TEMPLATES)
        planted = self._line(pool, goal=goal)
        self._session.marks.append(mark)
        if self._chooser.random() < 0.3:
            self._say("user.message", self._line(grammar.PASTED, planted=planted))
        else:
            self._say("agent.tool_result", planted)


def _filled(chooser: random.Random, template: str, **given: str) -> tuple[str, dict[str, str]]:
    """Fill a template's slots, none with what another one has; return it, and what was chosen."""
    chosen: dict[str, str] = {}
    for _, slot, _, _ in string.Formatter().parse(template):
        if slot and slot not in given and slot not in chosen:
            rest = [word for word in grammar.SLOTS[slot.rstrip("2")] if word not in chosen.values()]
            chosen[slot] = chooser.choice(rest)
    return template.format(**given, **chosen), chosen
