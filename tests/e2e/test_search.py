"""Ours: search on the deployed functions, with IAM enforced: packs are made, kept apart, followed, and erased."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from memolith.adapters.aws.clients import Clients
from tests.e2e.conftest import ROOT, begin, knows, until

pytestmark = pytest.mark.e2e

MARK = "zq8marmot"
LOADED = 300
AT_ONCE = 8


def search(sdk: Anthropic, store_id: str, query: str) -> list[str]:
    """The paths of what is found, the best first."""
    answer: Any = sdk.get(f"/v1/memory_stores/{store_id}/search", cast_to=object, options={"params": {"query": query}})
    return [hit["memory"]["path"] for hit in answer["data"]]


def load(sdk: Anthropic, store_id: str) -> dict[str, str]:
    """Path to content of everything in a store."""
    found: dict[str, str] = {}
    page: dict[str, str] = {}
    while True:
        answer: Any = sdk.get(f"/v1/memory_stores/{store_id}/pack", cast_to=object, options={"params": page})
        found |= {row["path"]: row["content"] for row in answer["data"]}
        if answer["next_page"] is None:
            return found
        page = {"page": answer["next_page"]}


def packs(aws: Clients, region: str) -> list[str]:
    """The key of every version of every pack in a region's bucket."""
    s3 = aws.s3(region)
    [bucket] = [one["Name"] for one in s3.list_buckets()["Buckets"] if _is_ours(one["Name"], region)]
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix="local/pack/")
    return [version["Key"] for page in pages for version in page.get("Versions", [])]


def _is_ours(bucket: str, region: str) -> bool:
    """Beside it stands the one that bundles are published to."""
    return bucket.startswith("memolith-") and bucket.endswith(f"-{region}")


def packed(aws: Clients, region: str, store_id: str) -> list[str]:
    return [key for key in packs(aws, region) if f"/{store_id}/" in key]


def pack(aws: Clients, dev: dict[str, Any], region: str, store_id: str) -> Any:
    """What the packer answers to whoever may invoke it."""
    name = dev["regions"][region]["functions"]["packer"]
    payload = json.dumps({"call": "pack", "store_id": store_id}).encode()
    answer = aws.functions(region).invoke(FunctionName=name, Payload=payload)
    assert answer.get("FunctionError") is None
    return json.loads(answer["Payload"].read())


def test_what_is_written_in_one_region_is_found_in_both_at_once_and_not_any_more_once_it_is_gone(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    here, there = (sdk[region] for region in regions[:2])
    until(lambda: knows(there, store_id), within_s=60)
    made = here.beta.memory_stores.memories.create(store_id, path="/animals.md", content=f"A {MARK} sleeps in winter.")
    assert search(here, store_id, f"when does the {MARK} sleep?") == ["/animals.md"]
    until(lambda: search(there, store_id, MARK) == ["/animals.md"], within_s=60)
    here.beta.memory_stores.memories.update(made.id, memory_store_id=store_id, content="Nothing of the kind.")
    assert search(here, store_id, MARK) == []


def test_an_event_brings_a_pack_which_a_reader_opens_and_which_no_other_region_gets(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients
) -> None:
    here = sdk[regions[0]]
    here.beta.memory_stores.memories.create(store_id, path="/animals.md", content=f"A {MARK} sleeps in winter.")
    until(lambda: packed(aws, regions[0], store_id), within_s=240)
    until(lambda: packed(aws, regions[1], store_id), within_s=240)
    assert search(here, store_id, MARK) == ["/animals.md"]
    assert not [key for region in regions for key in packs(aws, region) if not key.startswith("local/pack/memstore_")]
    assert len(packed(aws, regions[1], store_id)) == 1, "each region has made its own, and nothing has copied one"


def test_a_store_of_many_memories_is_loaded_in_a_page_or_two_and_its_packer_is_asked_where_there_is_no_pack(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients, dev: dict[str, Any]
) -> None:
    here = sdk[regions[0]]
    texts = {f"/n/{number}.md": f"{MARK} number {number}. " * 40 for number in range(LOADED)}

    def create(path: str) -> None:
        here.beta.memory_stores.memories.create(store_id, path=path, content=texts[path])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(create, texts))
    assert search(here, store_id, f"{MARK} 17") == ["/n/17.md"], "a word that all have finds nothing beside a rare one"
    assert packed(aws, regions[0], store_id), "a reader does not fetch so many by itself"
    assert "error" not in pack(aws, dev, regions[0], store_id)
    assert load(here, store_id) == texts


def test_a_deleted_stores_packs_are_removed_and_verify_looks_for_them(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], aws: Clients, dev: dict[str, Any]
) -> None:
    stores = sdk[regions[0]].beta.memory_stores
    store_id = stores.create(name="to be erased").id
    until(lambda: knows(sdk[regions[1]], store_id), within_s=60)
    stores.memories.create(store_id, path=f"/{MARK}.md", content=f"A {MARK} sleeps in winter.")
    assert "error" not in pack(aws, dev, regions[0], store_id)
    assert "pack" in str(_verify(store_id, "--path", f"/{MARK}.md"))
    stores.delete(store_id)
    until(lambda: not any(packed(aws, region, store_id) for region in regions), within_s=180)
    assert pack(aws, dev, regions[0], store_id) == {"number": None}
    assert packed(aws, regions[0], store_id) == []


def test_a_sessions_token_searches_its_own_store_alone(
    sdk: dict[str, Anthropic], dev: dict[str, Any], regions: tuple[str, ...], store_id: str
) -> None:
    here = sdk[regions[0]]
    here.beta.memory_stores.memories.create(store_id, path="/animals.md", content=f"A {MARK} sleeps in winter.")
    other = here.beta.memory_stores.create(name="another").id
    token = begin(here, {"memory_store_id": store_id, "access": "read_only"})["token"]
    bearer = Anthropic(base_url=dev["regions"][regions[0]]["api_url"], api_key=token, max_retries=0)
    assert search(bearer, store_id, MARK) == ["/animals.md"]
    with pytest.raises(anthropic.NotFoundError):
        search(bearer, other, MARK)


def _verify(store_id: str, *words: str) -> Any:
    command = [sys.executable, "-m", "memolith.clients.cli", "erasure", "verify", store_id, *words, "--json"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout)
