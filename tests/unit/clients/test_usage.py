"""What `memolith cite` and `memolith usage` tell people."""

from __future__ import annotations

import pytest

from tests.api.harness import Backend, memolith_backend
from tests.unit.clients.desk import Desk


@pytest.fixture
def backend() -> Backend:
    return memolith_backend()


def test_a_citation_is_told_once_and_a_store_that_is_not_counted_says_how_to_have_it_counted(desk: Desk) -> None:
    desk.run("put", desk.store, "/a.md", typed=b"text")
    session = desk.json("sessions", "begin", desk.store)["id"]
    assert desk.run("cite", session, "/a.md", "/b.md", "--note", "how")[1].strip() == "2 cited, 0 cited before"
    assert desk.run("cite", session, "/a.md")[1].strip() == "0 cited, 1 cited before"
    code, out, err = desk.run("usage", desk.store)
    assert (code, out.rstrip("\n").split("\t")[::5], "--pipelines usage=count" in err) == (0, ["/a.md", "false"], True)
    assert desk.run("usage", desk.store, "--unused")[1].count("/a.md") == 0
    assert desk.run("cite", "nonsense", "/a.md")[0] == 2
