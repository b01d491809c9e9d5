"""A tar of a history of which one record is not as any export wrote it: it is named before anything is written."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from tests.api.harness import Backend
from tests.unit.clients.conftest import backend_called
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_history import history, live, rewritten

Change = Callable[[dict[str, Any], list[Any]], object]


@pytest.fixture
def backend() -> Iterator[Backend]:
    with backend_called("memolith") as built:
        yield built


def told(**settings: object) -> Change:
    """A store of which the manifest tells something else."""
    return lambda manifest, lines: manifest["store"].update(settings)


def last(**fields: object) -> Change:
    """A last version of which the tar tells something else."""
    return lambda manifest, lines: lines[-1].update(fields)


REFUSED: dict[str, tuple[Change, str]] = {
    "a store": (lambda manifest, lines: manifest.update(store=["x"]), "manifest.json, store: must be an object"),
    "its name": (told(name=7), "manifest.json, store.name: must be a string"),
    "its metadata": (told(metadata="x"), "manifest.json, store.metadata: must be an object"),
    "its scan policy": (told(scan_policy="strict"), "manifest.json, store.scan_policy: must be an object"),
    "its retention": (told(retention=30), "manifest.json, store.retention: must be an object"),
    "its approval": (told(approval=["agents"]), "manifest.json, store.approval: must be an object"),
    "its pipelines": (told(pipelines="off"), "manifest.json, store.pipelines: must be an object"),
    "a version": (lambda manifest, lines: lines.append("x"), "versions.jsonl, line 3: must be an object"),
    "its memory": (
        lambda manifest, lines: lines[-1].pop("memory_id"),
        "versions.jsonl, line 2, memory_id: is required",
    ),
    "its path": (last(path=["/a"]), "versions.jsonl, line 2, path: must be a string"),
    "the grammar of its path": (last(path="a"), "versions.jsonl, line 2, path: must start with /"),
    "its text": (last(content={}), "versions.jsonl, line 2, content: must be a string"),
    "its time": (last(created_at="now"), "versions.jsonl, line 2, created_at: must be an RFC 3339"),
    "why it was withheld": (last(withheld={"rules": []}), "versions.jsonl, line 2, withheld.reason: is required"),
}


@pytest.mark.parametrize("record", REFUSED)
def test_a_record_that_is_not_as_it_must_be_is_named_and_nothing_is_written(desk: Desk, record: str) -> None:
    """With one version in each call, the first of them was written before the last was looked at."""
    change, said = REFUSED[record]
    desk.put("/a", "one")
    desk.put("/b", "two")
    desk.ok("export", desk.store, "history.tar", "--history")
    rewritten("bad.tar", change)
    store = desk.json("stores", "create", "target")["id"]
    desk.patch.setattr("memolith.clients.transfer.history.IMPORT_MAX_VERSIONS", 1)
    for words in (["import", "bad.tar", "--store", store], ["import", "bad.tar"]):
        err = desk.run(*words)[2]
        assert f"bad.tar is damaged: {said}" in err
        assert "nothing was imported" in err
    assert history(desk, store) == []
    assert len(desk.json("stores", "list")) == 2


def test_what_a_record_leaves_out_counts_as_null(desk: Desk) -> None:
    first = desk.put("/a", "one")
    desk.ok("rm", desk.store, "/a")
    desk.put("/b", "two")
    desk.ok("export", desk.store, "history.tar", "--history")

    def left_out(manifest: dict[str, Any], lines: list[Any]) -> None:
        for name in ("description", "metadata", "scan_policy", "retention"):
            manifest["store"].pop(name)
        manifest["store"]["approval"] = None
        [deletion] = [line for line in lines if line["operation"] == "deleted"]
        assert deletion["memory_id"] == first["id"]
        for name in ("path", "content", "created_by", "redacted_at", "redacted_by", "trust"):
            deletion.pop(name)

    rewritten("less.tar", left_out)
    report = desk.json("import", "less.tar")
    assert (report["results"], report["versions"]) == ({"created": 2}, {"imported": 3})
    assert live(desk, report["store"]) == live(desk, desk.store)


@pytest.mark.parametrize(("compress", "name"), [(lzma.compress, "history.tar.xz"), (gzip.compress, "history.tgz")])
def test_a_history_whose_compression_is_damaged_is_named(
    desk: Desk, compress: Callable[[bytes], bytes], name: str
) -> None:
    desk.put("/a", "".join(sha256(bytes([number])).hexdigest() for number in range(256)))
    desk.ok("export", desk.store, "history.tar", "--history")
    compressed = compress(Path("history.tar").read_bytes())
    middle = len(compressed) // 2
    Path(name).write_bytes(compressed[:middle] + b"\xff" * 64 + compressed[middle + 64 :])
    assert f"{name} is damaged" in desk.fails(Exit.USAGE, "import", name)
    assert len(desk.json("stores", "list")) == 1
