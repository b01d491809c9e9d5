"""Sixty questions whose answer is two links away, and how many a context and a search answer."""

from __future__ import annotations

from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched

QUESTIONS = 60
FIRST = ("Falcon", "Heron", "Osprey", "Kestrel", "Merlin", "Harrier", "Buzzard", "Condor", "Egret", "Ibis")
SECOND = ("North", "South", "East", "West", "Upper", "Lower")
GIVEN = ("Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hiro", "Ines", "Jonas")
FAMILY = ("Abel", "Brandt", "Costa", "Dahl", "Eriksen", "Fuchs")
TOWN = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Linden", "Maple", "Oak", "Willow")
ENDING = ("bridge", "ford", "haven", "mouth", "ton", "wick")


def project(number: int) -> str:
    return f"Project {FIRST[number % 10]} {SECOND[number // 10]}"


def person(number: int) -> str:
    return f"{GIVEN[number % 10]} {FAMILY[number // 10]}"


def town(number: int) -> str:
    return f"{TOWN[number % 10]}{ENDING[number // 10]}"


def planted_store() -> Searched:
    """Make a store of sixty projects, each with who leads it, who live in sixty towns."""
    made = Searched()
    for number in range(QUESTIONS):
        leads, lives = person(number), town((7 * number + 3) % QUESTIONS)
        made.create(
            f"/projects/{number}.md", f"# {project(number)}\n\n- [status] under way #project\n- led_by [[{leads}]]\n"
        )
        made.create(f"/people/{number}.md", f"# {leads}\n\n- [likes] rowing and long walks\n- lives_in [[{lives}]]\n")
        made.create(f"/towns/{number}.md", f"# {town(number)}\n\n- [sight] the old mill number {number}\n")
    made.deliver()
    return made


def answers(number: int) -> str:
    return town((7 * number + 3) % QUESTIONS)


def context_share(scene: Searched) -> float:
    """Return of how many questions a context two links deep has the answer."""

    def has_answer(number: int) -> bool:
        context = scene.at(HOME).graph.context(
            scene.call(), scene.store, url=project(number), depth=2, since=None, page=1, page_size=10, max_related=10
        )
        return answers(number) in [node.title for item in context.items for node in item.nodes]

    return sum(map(has_answer, range(QUESTIONS))) / QUESTIONS


def search_share(scene: Searched) -> float:
    """Return of how many questions one of ten hits has the answer."""

    def has_answer(number: int) -> bool:
        query = f"what is there to see in the town where the lead of {project(number)} lives?"
        found = scene.at(HOME).search.search(scene.call(), scene.store, query=query, limit=10)
        return any(answers(number) in hit.excerpt for hit in found.items)

    return sum(map(has_answer, range(QUESTIONS))) / QUESTIONS
