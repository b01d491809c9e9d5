"""What a session, and what is said, remarked and learned in it, ask of AWS."""

from __future__ import annotations

from memolith.app.api.transcripts import EventFilter
from memolith.app.kernel.session_filter import SessionFilter
from tests.unit.app.call_counts.rows import (
    CREATED,
    EXTRACTED,
    LOOK,
    OPEN_PATH_TEXT,
    OPEN_STORE,
    OPEN_TEXT,
    REMARKED,
    SHOW,
    UPDATED,
    Path,
)
from tests.unit.app.call_counts.stage import Stage
from tests.unit.app.scene import HOME

SESSIONS = [
    Path(
        "the sessions, of two regions",
        lambda s: s.scene.at(HOME).sessions.page(s.scene.call(), filter=SessionFilter(), limit=20, after=None),
        ["read control+keys", "[query keys | query keys]", "read keys"],
        [],
    ),
    Path(
        "a store, with a session's token",
        lambda s: s.scene.at(HOME).stores.retrieve(s.of_session(), s.scene.store),
        [OPEN_STORE],
        [],
        Stage.visited,
    ),
    Path(
        "another token, with the key that began the session",
        lambda s: s.scene.at(HOME).sessions.renew(s.scene.call(), s.session.record.session_id, 60),
        ["read control+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "another token, with another key",
        lambda s: s.scene.at(HOME).sessions.renew(s.scene.call(s.spare_key), s.session.record.session_id, 60),
        ["read control+keys", "read keys"],
        [],
        Stage.visited,
    ),
    Path(
        "a session that was shown an imported text",
        lambda s: s.scene.at(HOME).session_trust.lower("wrkspc_default", s.session.record.session_id, "m"),
        ["read control+keys", "put session", "read keys", "transact journal+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "an event of a session",
        lambda s: s.record("a"),
        ["read control+keys", "query keys", "put transcript", "read keys", "transact journal+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "an event of a session that was recorded before",
        lambda s: s.record("a"),
        ["read control+keys", "query keys"],
        [],
        Stage.reported,
    ),
    Path(
        "the events of a session",
        lambda s: s.scene.at(HOME).transcripts.page(
            s.scene.call(), s.session.record.session_id, filter=EventFilter(), limit=20, after=None
        ),
        ["read control+keys", "query keys", "read keys", "get transcript"],
        [],
        Stage.reported,
    ),
    Path(
        "a stream of a session's events is opened",
        Stage.listen,
        ["read control+keys", "query keys", "read keys"],
        [],
        Stage.reported,
    ),
    Path(
        "a look of a stream on which nothing came",
        lambda s: s.tail.news(),
        ["read control+keys", "[query keys | query keys]"],
        [],
        Stage.listening,
    ),
    Path(
        "a look of a stream on which an event came",
        lambda s: s.tail.news(),
        ["read control+keys", "[query keys | query keys]", "get transcript"],
        [],
        Stage.heard,
    ),
    Path(
        "the resources of a session",
        lambda s: s.scene.at(HOME).sessions.parts.resources(
            s.scene.call(), s.session.record.session_id, limit=20, after=None
        ),
        ["read control+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "the thread of a session",
        lambda s: s.scene.at(HOME).sessions.parts.threads(s.scene.call(), s.session.record.session_id),
        ["read control+keys"],
        [],
        Stage.visited,
    ),
    Path(
        "extraction of a session that taught nothing",
        Stage.extract,
        [*EXTRACTED, "list job", "put job", "put job"],
        [],
        Stage.reported,
    ),
    Path(
        "a search of conversations, of one session",
        Stage.conversations,
        ["read control+keys", "[query keys | query keys]", "query keys", "get transcript", "read keys"],
        [],
        Stage.reported,
    ),
    Path(
        "extraction of a session that taught something",
        Stage.extract,
        [
            *(*EXTRACTED, "list job", "put job"),
            *("read paths", "read control+stores", "read stores", "query stores", "read paths"),
            *("read verdicts", "put proposal", "read stores", "transact journal+stores", "read verdicts", "put job"),
        ],
        [],
        Stage.taught,
    ),
    Path(
        "extraction of a session of which nothing was said since",
        Stage.extract,
        [*EXTRACTED, "list job", "get job"],
        [],
        Stage.extracted,
    ),
    Path(
        "the first remark of a day",
        lambda s: s.scene.at(HOME).remarks.append(s.scene.call(), s.scene.store, "one"),
        [REMARKED, OPEN_PATH_TEXT, "write paths", *LOOK, "put log", CREATED],
        [],
    ),
    Path(
        "a remark in a log that is there",
        lambda s: s.scene.at(HOME).remarks.append(s.scene.call(), s.scene.store, "two"),
        [REMARKED, OPEN_TEXT.removesuffix("+verdicts"), SHOW, OPEN_TEXT, "put log", UPDATED],
        [],
        lambda s: s.scene.at(HOME).remarks.append(s.scene.call(), s.scene.store, "one"),
    ),
    Path(
        "the end of a session, and the order to erase its transcript",
        lambda s: s.scene.at(HOME).sessions.delete(s.scene.call(), s.session.record.session_id),
        [
            *["read control+keys", "put session", "read keys", "transact journal+keys"],
            *["put transcript", "read keys", "transact journal+keys"],
        ],
        [],
        Stage.visited,
    ),
    Path(
        "another title of a session",
        lambda s: s.scene.at(HOME).sessions.update(s.scene.call(), s.session.record.session_id, title="t", metadata={}),
        ["read control+keys", "put session", "read keys", "transact journal+keys"],
        [],
        Stage.visited,
    ),
]
