"""Ours: the SDK's private sync client, unchanged, mirrors a store of the deployment, whichever region it speaks to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools._memories import SessionMemoryStores
from anthropic.types.beta import BetaManagedAgentsSession

from tests.e2e.conftest import until

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("asked", [0, 1], ids=["in the first region", "in the second region"])
def test_what_was_made_edited_and_deleted_locally_reaches_the_store(
    sdk: dict[str, Anthropic],
    regions: tuple[str, ...],
    store_id: str,
    dev: dict[str, Any],
    tmp_path: Path,
    asked: int,
) -> None:
    here = sdk[regions[asked]]
    for name in ("a", "b"):
        sdk[regions[0]].beta.memory_stores.memories.create(store_id, path=f"/{name}.md", content=name)
    until(lambda: set(_contents(here, store_id)) == {"/a.md", "/b.md"})
    asyncio.run(_edit_locally(dev, regions[asked], store_id, tmp_path))
    assert _contents(here, store_id) == {"/a.md": "edited here", "/new/c.md": "made here"}


async def _edit_locally(dev: dict[str, Any], region: str, store_id: str, folder: Path) -> None:
    mount = folder / "mnt" / "memory" / "notes"
    resource = {
        "type": "memory_store",
        "memory_store_id": store_id,
        "mount_path": str(mount),
        "name": "Notes",
        "access": "read_write",
    }
    async with AsyncAnthropic(base_url=dev["regions"][region]["api_url"], api_key=dev["api_key"]) as client:
        stores = SessionMemoryStores(client, workdir=folder)
        await stores.download(BetaManagedAgentsSession.construct(id="sesn_1", resources=[resource]))
        try:
            (mount / "a.md").write_text("edited here")
            (mount / "new").mkdir()
            (mount / "new" / "c.md").write_text("made here")
            (mount / "b.md").unlink()
            await stores.finish()
        finally:
            await stores.dispose()


def _contents(sdk: Anthropic, store_id: str) -> dict[str, str | None]:
    rows = sdk.beta.memory_stores.memories.list(store_id, view="full")
    return {row.path: row.content for row in rows if row.type == "memory"}
