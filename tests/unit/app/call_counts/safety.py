"""What a redaction and a verdict ask of AWS."""

from __future__ import annotations

from tests.unit.app.call_counts.rows import Path
from tests.unit.app.call_counts.stage import Stage
from tests.unit.app.scene import AWAY, HOME

REDACTIONS = [
    Path(
        "a redaction",
        lambda s: s.scene.redact(s.a.version_id),
        [
            "read control+keys+stores+versions",
            "read control+stores+versions",
            "read memories",
            "put redaction",
            "read versions",
            "transact journal+versions",
            "read versions",
            f"invoke eraser@{HOME}",
            "head log",
            "head redaction",
            "erase log",
            "versions dream",
            "list dream",
            "query stores",
        ],
        [],
        Stage.superseded,
    ),
    Path(
        "a redaction again",
        lambda s: s.scene.redact(s.a.version_id),
        [
            "read control+keys+stores+versions",
            "read control+stores+versions",
            "read versions",
            f"invoke eraser@{HOME}",
            "head log",
            "delete_older log",
            "versions dream",
            "list dream",
            "query stores",
        ],
        [],
        Stage.redacted,
    ),
]

VERDICTS = [
    Path(
        "that withholds",
        lambda s: s.scene.judge(s.a),
        ["read control", "read verdicts", "get verdict", "put verdict", "read verdicts", "transact journal+verdicts"],
        [],
    ),
    Path(
        "that stands already",
        lambda s: s.scene.judge(s.a),
        ["read control", "read verdicts", "get verdict"],
        [],
        lambda s: s.scene.judge(s.a),
    ),
    Path(
        "whose event comes at home",
        lambda s: s.event_at(HOME),
        ["read control", "get verdict", "read verdicts"],
        [],
        lambda s: s.scene.judge(s.a),
    ),
    Path(
        "whose event comes in a replica",
        lambda s: s.event_at(AWAY),
        [],
        ["read control", "get verdict", "read verdicts", "write verdicts"],
        lambda s: s.scene.judge(s.a),
    ),
]
