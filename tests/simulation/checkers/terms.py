"""After a fail-over every memory is linearizable by itself, for as long as one home hands the store on to the next.

A chain of terms begins with a fail-over and goes on through planned moves until the next fail-over begins. What its
first home found is not known to clients: the search may begin with the memory in any state in which an answer has ever
shown it, or without it. What came late may be adopted at any moment, each version once.

What is judged of a chain: the writes whose versions stand in its terms, wherever they were called, and every answer of
the region that is the home, from the first write that it acknowledged as such. Elsewhere nobody can tell whether the
lost home answered, which does not know yet that it was taken over; what is acknowledged there in an older term is late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memolith.core.log_position import Epoch
from tests.simulation.checkers import exceptions
from tests.simulation.checkers.facts import epoch_of
from tests.simulation.checkers.linearizability import Memory, State, linearizable
from tests.simulation.evidence import Evidence
from tests.simulation.history import NEVER, Listed, Operation, Seen


@dataclass(frozen=True, slots=True)
class Chain:
    """Terms of one store that follow one another without a fail-over.

    Attributes:
        since: by region: when it had acknowledged its first write in one of these terms.
        end: when the next fail-over began, or one that came to nothing before it; never for the last.
    """

    terms: tuple[Epoch, ...]
    since: Mapping[str, int]
    end: int


def memories_are_linearizable(evidence: Evidence, store_id: str, rest: Sequence[Operation]) -> Iterator[str]:
    """Each memory in each chain of terms after a fail-over; `rest` are reads at rest, for the last one."""
    made = [one for one in evidence.history.operations if one.store_id == store_id]
    made_by = makers(evidence, store_id, made)
    shown = _shown(evidence, store_id, made)
    chains = list(_chains(evidence, store_id, made))
    for chain in chains:
        last = rest if chain.end == NEVER else ()
        for memory_id, states in shown.items():
            operations = list(_of_chain(evidence, chain, memory_id, made, made_by))
            operations += [one for one in last if one.asked["memory_id"] == memory_id]
            operations += _adoptions(evidence, store_id, memory_id, states)
            operations += _erasures(evidence, chain, memory_id, states, made)
            begin: list[State] = [(), *((state,) for state in states.values())]
            if not linearizable(operations, _created(states), begin=begin):
                told = "\n".join(str(one) for one in operations)
                yield f"no order explains what {store_id} answered of {memory_id} in {chain.terms}:\n{told}"


def _chains(evidence: Evidence, store_id: str, made: Sequence[Operation]) -> Iterator[Chain]:
    """Those that begin with a fail-over, and in which anything was acknowledged."""
    acknowledged: dict[Epoch, int] = {}
    for one in made:
        term = _term(evidence, one)
        if term is not None:
            acknowledged[term] = min(acknowledged.get(term, NEVER), one.returned or NEVER)
    groups: list[list[Epoch]] = []
    for term in evidence.epochs[store_id]:
        if term.attempt == 0:
            groups.append([])
        groups[-1].append(term)
    for terms in groups[1:]:
        since: dict[str, int] = {}
        for term in terms:
            if term in acknowledged:
                since[term.home] = min(since.get(term.home, NEVER), acknowledged[term])
        if since:
            ends = (
                []
                if terms is groups[-1]
                else [one for one in evidence.takeovers[store_id] if one > min(since.values())]
            )
            end = NEVER if terms is groups[-1] else min(ends, default=0)
            yield Chain(tuple(terms), since, end)


def _term(evidence: Evidence, one: Operation) -> Epoch | None:
    """The term in which an acknowledged write was committed first."""
    if one.kind not in ("create", "update") or not one.acknowledged:
        return None
    written = evidence.written.get(one.answer.version_id)
    return None if written is None else epoch_of(written.position)


def makers(evidence: Evidence, store_id: str, made: Sequence[Operation]) -> frozenset[int]:
    """The numbers of the operations that made the version they were shown, where others found it to be so already.

    Who made it asked for what it changed, and had begun before it was put and before anybody was shown it. Of several,
    who had a text to write made it, or who demanded nothing.
    """
    seen = {one.answer.version_id: one.answer for one in made if isinstance(one.answer, Seen)}
    first: dict[str, int] = {}
    for one in made:
        for shown in _shown_by(one):
            first[shown.version_id] = min(first.get(shown.version_id, NEVER), one.returned or NEVER)
    rows = evidence.rows[evidence.homes[store_id]]["versions"]
    before = {row["version_id"]: seen.get(row.get("parent_version_id") or "") for row in rows.values()}
    found: dict[str, int] = {}
    for one in sorted(made, key=lambda one: (one.asked.get("content") is None, one.asked.get("expected") is not None)):
        if (
            one.kind in ("create", "update")
            and one.acknowledged
            and one.invoked < first[one.answer.version_id]
            and _may_have_made(one, before.get(one.answer.version_id))
            and _was_there(evidence, one, before.get(one.answer.version_id))
        ):
            found.setdefault(one.answer.version_id, one.number)
    return frozenset(found.values())


def _was_there(evidence: Evidence, one: Operation, before: Seen | None) -> bool:
    """Whether it had begun when the version was put, and did not expect another text than was there before.

    What was adopted follows another version now than the one that its maker found.
    """
    written = evidence.written.get(one.answer.version_id)
    if written is None:
        return True
    expected = None if before is None or written.adopted else one.asked.get("expected")
    return one.invoked <= written.put_at and (before is None or expected in (None, before.sha256))


def _may_have_made(one: Operation, before: Seen | None) -> bool:
    """Whether it asked for what is different now; where nobody knows what was before, it may have."""
    if before is None or one.kind == "create":
        return True
    moved, written = before.path != one.answer.path, before.sha256 != one.answer.sha256
    return not (moved and one.asked["path"] is None) and not (written and one.asked["content"] is None)


def _shown(evidence: Evidence, store_id: str, made: Sequence[Operation]) -> dict[str, dict[str, Memory]]:
    """By memory, then version: every state in which any answer showed it."""
    found: dict[str, dict[str, Memory]] = defaultdict(dict)
    for one in made:
        for seen in _shown_by(one):
            found[seen.memory_id][seen.version_id] = (seen.memory_id, seen.path, seen.sha256)
    for final in evidence.final[store_id].values():
        for memory_id, versions in final.versions.items():
            for version in versions:
                if version.path is not None and version.content_sha256 is not None:
                    found[memory_id][version.id] = (memory_id, version.path, version.content_sha256)
    for apart in evidence.apart[store_id]:
        if apart.path is not None and apart.sha256 is not None:
            found[apart.memory_id][apart.version_id] = (apart.memory_id, apart.path, apart.sha256)
    return found


def _shown_by(one: Operation) -> list[Seen]:
    """The memories that an answer showed, of a page or alone."""
    answers = one.answer.items if isinstance(one.answer, Listed) else (one.answer,)
    return [answer for answer in answers if isinstance(answer, Seen)]


def _of_chain(
    evidence: Evidence, chain: Chain, memory_id: str, made: Sequence[Operation], made_by: frozenset[int]
) -> Iterator[Operation]:
    for one in made:
        if one.invoked > chain.end or not _is_about(one, memory_id):
            continue
        if exceptions.is_shown_before_its_adoption(evidence, one):
            continue
        term = _term(evidence, one) if one.number in made_by else None
        since = chain.since.get(one.region, NEVER)
        by_home = one.home and one.invoked > since and (one.returned or NEVER) < chain.end
        if term in chain.terms and (one.returned or NEVER) < chain.end:
            yield one
        elif term in chain.terms or _is_open(one, by_home):
            yield replace(one, returned=None, answer=None)
        elif term is None and by_home and not (one.refused and one.answer.name == "PathConflict"):
            yield one


def _is_open(one: Operation, by_home: bool) -> bool:
    """Whether it may have had its effect in these terms, or not; a deletion does not say which version it is."""
    if one.refused or one.kind == "read":
        return False
    return one.answer is None or (one.kind == "delete" and not by_home)


def _is_about(one: Operation, memory_id: str) -> bool:
    if one.kind == "create":
        return isinstance(one.answer, Seen) and one.answer.memory_id == memory_id
    return one.kind in ("read", "update", "delete") and one.asked["memory_id"] == memory_id


def _adoptions(evidence: Evidence, store_id: str, memory_id: str, states: Mapping[str, Memory]) -> Iterator[Operation]:
    """What came late may become the memory at any moment, or end it; and so may the order to erase what came late."""
    for version_id, state in states.items():
        if exceptions.came_late(evidence, store_id, version_id):
            yield _adoption(store_id, {"memory_id": memory_id, "state": state})
    if exceptions.deletion_came_late(evidence, store_id, memory_id):
        yield _adoption(store_id, {"memory_id": memory_id, "state": None})
    final = evidence.final[store_id][evidence.homes[store_id]]
    history = {version.id for version in final.versions.get(memory_id, ())}
    for one in evidence.history.operations:
        if exceptions.dismissed(one) in history:  # it counts, or was adopted, while somebody dismissed it
            yield _adoption(store_id, {"memory_id": memory_id, "state": None}, one.invoked)


def _erasures(
    evidence: Evidence, chain: Chain, memory_id: str, states: Mapping[str, Memory], made: Sequence[Operation]
) -> Iterator[Operation]:
    """What the lost home redacted may be what the memory is in these terms: it is erased once, when that order comes.

    The home of these terms redacts no version that is what a memory is.
    """
    ordered: set[str] = set()
    for one in made:
        by_home = one.home and one.invoked > chain.since.get(one.region, NEVER)
        if one.kind != "redact" or one.refused or by_home:
            continue
        version_id: str = one.asked["version_id"]
        if version_id not in states or version_id in ordered:
            continue
        if exceptions.was_redacted_before_what_came_late(evidence, one.store_id, memory_id, version_id):
            ordered.add(version_id)
            asked = {"memory_id": memory_id, "state": None, "erases": states[version_id]}
            yield _adoption(one.store_id, asked, one.invoked)


def _adoption(store_id: str, asked: Mapping[str, object], invoked: int = 0) -> Operation:
    return Operation(-1, "home", "", store_id, True, "adoption", asked, invoked)


def _created(states: Mapping[str, Memory]) -> dict[str, str]:
    return {sha256: memory_id for memory_id, _, sha256 in states.values()}
