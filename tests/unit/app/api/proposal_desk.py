"""An agent who proposes and a person who decides, in a scene of two regions."""

from __future__ import annotations

from typing import Any

from memolith.app.kernel.proposal_results import Proposal
from memolith.core.proposed_edits import EditRequest
from tests.unit.app.scene import HOME, Scene


class Desk:
    """A scene with an agent's key, which proposes, and a person's, which decides."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.agent = scene.cloud.key("write", holder="agent")
        self.person = scene.cloud.key("write", holder="person")
        scene.deliver()

    def open(self, *edits: EditRequest, at: str = HOME, key: str | None = None, by: str | None = None) -> Proposal:
        proposals = self.scene.at(at).proposals
        return proposals.open(self.scene.call(by or self.agent), self.scene.store, why="tidy up", edits=edits, key=key)

    def do(
        self, change: str, proposal: Proposal | str, *, at: str = HOME, by: str | None = None, **more: Any
    ) -> Proposal:
        id = proposal if isinstance(proposal, str) else proposal.id
        act = getattr(self.scene.at(at).proposals, change)
        answer: Proposal = act(self.scene.call(by or self.person), self.scene.store, id, **more)
        return answer

    def show(self, proposal: Proposal, *, at: str = HOME, diff: bool = False, by: str | None = None) -> Proposal:
        return self.do("retrieve", proposal, at=at, by=by, diff=diff)

    def list(self, status: str = "open", *, at: str = HOME, by: str | None = None) -> list[str]:
        page = self.scene.at(at).proposals.page(
            self.scene.call(by or self.person), self.scene.store, status=status, limit=100, after=None
        )
        return [one.id for one in page.items]


def outcomes(proposal: Proposal) -> list[str | None]:
    return [edit.result.outcome if edit.result else None for edit in proposal.edits or ()]


def texts(scene: Scene, at: str = HOME) -> dict[str, str | None]:
    return {item.path: scene.read(item.id, at=at).content for item in scene.page(at=at).items}  # type: ignore[union-attr]  # a memory, and no folder
