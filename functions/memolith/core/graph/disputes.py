"""What a conflict is called, so that a decision about it can be kept without a word of what is in dispute. Pure.

An id is an HMAC, with the store's salt, of what two statements say: it is the same in every region and after every
change of anything else in their memories, and another one as soon as one of them says something else. Who does not know
the salt cannot make one, nor learn from one what a statement says, and the salt is erased with its store.
"""

from __future__ import annotations

import hmac
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from memolith.core.graph.claims import Claim, of_observation, of_relation, own_subjects
from memolith.core.graph.conflicts import CONTRADICTS
from memolith.core.graph.grammar import Observation, Relation
from memolith.core.graph.note import TEXT_MAX_CHARS, Note

HEX_CHARS = 40
VALUES, DECLARED = "values", "declared"
"""Kinds of conflicts: by what two statements say, or because a note says that it contradicts another."""


@dataclass(frozen=True, slots=True)
class Version:
    """A memory's text as a side of conflicts: the note that it is, at one version."""

    memory_id: str
    version_id: str
    path: str
    note: Note


def statement_id(salt: bytes, memory_id: str, version_id: str, said: Observation | Relation | None) -> str:
    """Return the id of a statement of a memory; of the memory as a whole, at this version, where `said` is None."""
    if isinstance(said, Observation):
        valid = None if said.valid in (None, (None, None)) else said.valid
        words: list[object] = ["observation", _kept(said.category or ""), _kept(said.text), valid]
    elif said is not None:
        words = ["relation", _kept(said.type), _kept(said.target)]
    else:
        words = ["memory", version_id]
    return f"stmt_{_hash(salt, [memory_id, *words])}"


def conflict_id(salt: bytes, kind: str, statement_ids: tuple[str, str]) -> str:
    """Return the id of a conflict between two statements, in whichever order."""
    return f"conf_{_hash(salt, [kind, *sorted(statement_ids)])}"


def conflicts_between(salt: bytes, one: Version, other: Version) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield ids of what two texts may contradict each other in, with those of the statements, that of `one` first.

    These are all pairs of statements that claim something for the same: which of them do contradict each other was
    decided by who knows an id. The two may be one text.
    """
    same = one.memory_id == other.memory_id
    claimed, answered = _claims(salt, one), _claims(salt, other)
    for key in claimed.keys() & answered.keys():
        pairs = combinations(claimed[key], 2) if same else product(claimed[key], answered[key])
        for first, second in pairs:
            yield conflict_id(salt, VALUES, (first, second)), (first, second)
    for source, target in () if same else ((one, other), (other, one)):
        whole = statement_id(salt, target.memory_id, target.version_id, None)
        for relation in source.note.relations:
            if relation.type in CONTRADICTS:
                said = statement_id(salt, source.memory_id, source.version_id, relation)
                found = conflict_id(salt, DECLARED, (said, whole))
                yield found, (said, whole) if source is one else (whole, said)


def _claims(salt: bytes, version: Version) -> dict[tuple[str, str], list[str]]:
    """Return by what it claims a value for the statements of a note that do."""
    note = version.note
    subjects = own_subjects(version.path, note.title, note.permalink)
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    statements: list[tuple[Observation | Relation, Iterator[Claim]]] = [
        *((one, of_observation(one, subjects)) for one in note.observations),
        *((one, of_relation(one, subjects)) for one in note.relations),
    ]
    for said, claims in statements:
        id = statement_id(salt, version.memory_id, version.version_id, said)
        for claim in claims:
            if id not in found[claim.subject, claim.key]:
                found[claim.subject, claim.key].append(id)
    return found


def _kept(text: str) -> str:
    """Return what a pack has of a text."""
    return text[:TEXT_MAX_CHARS]


def _hash(salt: bytes, words: list[object]) -> str:
    text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
    return hmac.digest(salt, text.encode(errors="surrogatepass"), "sha256").hex()[:HEX_CHARS]
