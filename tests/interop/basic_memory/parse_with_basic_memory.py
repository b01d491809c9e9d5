"""Run in Basic Memory's own Python: Markdown as JSON lines in, what its parser makes of each as JSON lines out."""

from __future__ import annotations

import json
import sys

from basic_memory.markdown.entity_parser import parse  # type: ignore[import-not-found]  # in an environment of its own
from basic_memory.markdown.path_links import (  # type: ignore[import-not-found]  # in an environment of its own
    is_path_target,
    resolve_project_path,
)

PATH = "x.md"

for line in sys.stdin:
    found = parse(json.loads(line))
    relations = []
    for one in found.relations:
        target = resolve_project_path(one.target, PATH) if is_path_target(one.target) else one.target
        if target is not None:
            relations.append([one.type, target, one.context])
    observations = [[one.category, one.content, one.tags or [], one.context] for one in found.observations]
    sys.stdout.write(json.dumps({"observations": observations, "relations": relations}) + "\n")
