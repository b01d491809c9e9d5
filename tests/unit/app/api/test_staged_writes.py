"""Direct writes that wait for a person: asked for again, they are one proposal until something is decided of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from memolith.app.kernel.proposal_results import Proposal, Staged
from memolith.app.kernel.results import UNSET, Memory
from memolith.core.errors import InvalidRequest, PathConflict
from memolith.core.limits import PROPOSAL_LIFETIME_US
from tests.unit.app.api.proposal_desk import Desk
from tests.unit.app.api.test_proposal_races import PUT, raced
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.app.trace import Trace

Write = Callable[["Review", str], object]


class Review(Desk):
    """A store that has its agents' writes wait, with a memory at ``/a``."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.memory = scene.create("/a", "first")
        self.choose(agents="propose")

    def choose(self, **policy: Any) -> None:
        self.scene.at(HOME).stores.update(
            self.scene.call(), self.scene.store, name=UNSET, description=UNSET, metadata=None, approval=policy
        )
        self.scene.deliver()

    def create(self, at: str = HOME, path: str = "/new", content: str = "text", by: str | None = None) -> Memory:
        call = self.scene.call(by or self.agent)
        return self.scene.at(at).memories.create(call, self.scene.store, path=path, content=content, full=False)

    def update(self, at: str = HOME, by: str | None = None, **asked: Any) -> Memory:
        asked = {"content": None, "path": None, "expected_content_sha256": None, "full": False} | asked
        return self.scene.at(at).memories.update(
            self.scene.call(by or self.agent), self.scene.store, self.memory.id, **asked
        )

    def delete(self, at: str = HOME) -> str:
        return self.scene.at(at).memories.delete(
            self.scene.call(self.agent), self.scene.store, self.memory.id, expected_content_sha256=None
        )


WRITES: dict[str, Write] = {
    "create": lambda review, at: review.create(at),
    "replace": lambda review, at: review.update(at, content="second"),
    "rename": lambda review, at: review.update(at, path="/b"),
    "delete": lambda review, at: review.delete(at),
}


@pytest.fixture
def review(scene: Scene) -> Review:
    return Review(scene)


@pytest.fixture(params=WRITES)
def write(request: pytest.FixtureRequest) -> Write:
    return WRITES[request.param]


def staged(act: Callable[[], object]) -> Proposal:
    with pytest.raises(Staged) as opened:
        act()
    return opened.value.proposal


def test_a_write_that_waits_is_asked_for_again_anywhere_and_is_one_proposal(review: Review, write: Write) -> None:
    first = staged(lambda: write(review, HOME))
    for at in (AWAY, HOME, AWAY):
        assert staged(partial(write, review, at)) == first
    assert review.list() == [first.id]


def test_another_text_path_author_or_head_is_another_write(review: Review) -> None:
    made = [
        staged(lambda: review.create()),
        staged(lambda: review.create(content="another text")),
        staged(lambda: review.create(path="/other")),
        staged(lambda: review.create(by=review.scene.cloud.key("write", holder="agent"))),
        staged(lambda: review.update(content="second")),
        staged(lambda: review.update(content="third")),
        staged(lambda: review.update(content="second", path="/b")),
        staged(lambda: review.delete()),
    ]
    review.update(content="a person's", by=review.person)
    made += [staged(lambda: review.update(content="second")), staged(lambda: review.delete())]
    review.update(path="/moved", by=review.person)
    made += [staged(lambda: review.update(content="second")), staged(lambda: review.delete())]
    assert len({one.id for one in made}) == len(made)
    assert [review.show(one).edits[0].conflict for one in made[-2:]] == [None, None]  # type: ignore[index]  # a proposal is shown with its edits


@pytest.mark.parametrize(("change", "by"), [("reject", "person"), ("withdraw", "agent")])
def test_a_write_of_which_something_was_decided_opens_the_next_proposal_once(
    review: Review, write: Write, change: str, by: str
) -> None:
    decided: set[str] = set()
    for _ in range(4):
        first = staged(lambda: write(review, HOME))
        for at in (AWAY, HOME):
            assert staged(partial(write, review, at)) == first
        assert review.list() == [first.id] and first.id not in decided
        review.do(change, first, by=getattr(review, by), **({"reason": "no"} if change == "reject" else {}))
        decided.add(first.id)


def test_a_write_that_was_decided_many_times_costs_no_look_at_each(review: Review) -> None:
    for _ in range(30):
        review.do("withdraw", staged(lambda: review.create()), by=review.agent)
    trace = Trace()
    with review.scene.intercepted_by(trace):
        last = staged(lambda: review.create())
    assert review.list() == [last.id]
    assert trace.of(HOME).count("read stores") <= 12


def test_a_write_that_was_approved_and_taken_back_opens_the_next_proposal(review: Review, write: Write) -> None:
    first = staged(lambda: write(review, HOME))
    review.do("approve", first)
    review.do("revert", first)
    review.scene.deliver()
    if first.edits and first.edits[0].op == "delete":
        return  # what came back is another memory
    second = staged(lambda: write(review, HOME))
    assert second.id != first.id and staged(lambda: write(review, AWAY)) == second


def test_a_proposal_that_has_expired_is_not_answered_with_though_no_one_has_said_so_yet(
    review: Review, write: Write
) -> None:
    first = staged(lambda: write(review, HOME))
    review.scene.clock.advance(PROPOSAL_LIFETIME_US / 1_000_000)
    second = staged(lambda: write(review, HOME))
    assert second.id != first.id
    assert review.do("approve", second).status == "approved"


def test_a_write_that_one_of_two_people_has_approved_is_answered_with_who_it_was(review: Review) -> None:
    review.choose(paths=[{"prefix": "/", "require": 2}])
    once = review.do("approve", staged(lambda: review.create()))
    assert once.endorsed_by is not None
    for at in (HOME, AWAY):
        again = staged(partial(review.create, at))
        assert (again.id, again.status, again.endorsed_by) == (once.id, "open", once.endorsed_by)


def test_while_its_proposal_is_open_a_write_is_refused_or_no_change_as_any_other(review: Review) -> None:
    for act in (review.create, lambda: review.update(content="second"), lambda: review.update(path="/b")):
        staged(act)
    review.create(by=review.person, content="a person's")
    review.create(by=review.person, path="/b")
    for act in (review.create, lambda: review.update(path="/b")):
        with pytest.raises(PathConflict):
            act()
    written = review.update(content="second", by=review.person)
    for at in (HOME, AWAY):
        assert review.update(at, content="second").version_id == written.version_id


def test_of_the_same_write_twice_at_once_one_proposal_is_opened(review: Review, write: Write) -> None:
    other: list[Proposal] = []
    first = raced(
        review.scene,
        PUT,
        "/proposal/",
        lambda: staged(lambda: write(review, HOME)),
        lambda: other.append(staged(lambda: write(review, HOME))),
    )
    assert [first] == other
    assert [one.id for one in other] == review.list()


def test_at_its_next_home_a_write_that_waits_is_the_same_proposal(review: Review, write: Write) -> None:
    first = staged(lambda: write(review, HOME))
    review.scene.cloud.sites[AWAY].homes.move(review.scene.store)
    for at in (AWAY, HOME):
        assert staged(partial(write, review, at)).id == first.id
    review.scene.deliver()
    assert review.list() == review.list(at=AWAY) == [first.id]
    review.do("reject", first, reason="no")
    assert staged(lambda: write(review, HOME)).id != first.id


def test_where_a_store_has_as_many_proposals_as_it_may_a_write_that_waits_is_answered_all_the_same(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.app.api.proposal_drafts.PROPOSALS_OPEN_MAX", 1)
    first = staged(lambda: review.create())
    assert staged(lambda: review.create()) == first
    with pytest.raises(InvalidRequest, match="1 open proposals"):
        review.create(path="/other")
