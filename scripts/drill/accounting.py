"""What became of every acknowledged write: looked for in every region, when everything is at rest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import anthropic
from anthropic import Anthropic

from scripts.drill.load import Acknowledged

ASK_EVERY_S = 1.0
LOOK_EVERY_S = 2.0
READERS = 4

Look = Callable[[Anthropic, Iterable[str]], dict[str, str | None]]
"""What one region has of these stores: each version's id, and its text's hash."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where the acknowledged writes are.

    Attributes:
        kept: those that every region has in its history with the text that was acknowledged.
        divergent: those that every region lists as divergent.
        missing: by region, the versions that are in neither.
        disputed: those that some regions have in their history, and the others list as divergent.
    """

    kept: frozenset[str]
    divergent: frozenset[str]
    missing: Mapping[str, frozenset[str]]
    disputed: frozenset[str] = frozenset()

    @property
    def settled(self) -> bool:
        """Whether nothing is missing anywhere, and the regions agree."""
        return not any(self.missing.values()) and not self.disputed


def account(
    acknowledged: Sequence[Acknowledged],
    histories: Mapping[str, Mapping[str, str | None]],
    divergent: Mapping[str, frozenset[str]],
) -> Account:
    """Compare what was acknowledged with what each region has.

    Args:
        acknowledged: the writes that clients got an answer for.
        histories: region to version_id to the content's hash.
        divergent: region to the versions that it lists as divergent.
    """
    wanted = {one.version_id: one.content_sha256 for one in acknowledged}
    kept, listed = set(wanted), set(wanted)
    missing: dict[str, frozenset[str]] = {}
    for region, history in histories.items():
        here = {version for version, sha in wanted.items() if history.get(version) == sha}
        there = {version for version in wanted if version in divergent.get(region, frozenset())} - here
        missing[region] = frozenset(set(wanted) - here - there)
        kept &= here
        listed &= there
    disputed = set(wanted).difference(kept, listed, *missing.values())
    return Account(frozenset(kept), frozenset(listed), missing, frozenset(disputed))


def history(sdk: Anthropic, store_ids: Iterable[str]) -> dict[str, str | None]:
    """Return every version of these stores as one region has it, with its content's hash. Raises as the SDK does."""
    return {
        version.id: version.content_sha256
        for store_id in store_ids
        for version in sdk.beta.memory_stores.memory_versions.list(store_id, limit=100)
    }


def texts(sdk: Anthropic, store_ids: Iterable[str]) -> dict[str, str | None]:
    """Return the same from texts, each read from its object and hashed here: a row may outlive its text.

    A text that cannot be read is left out. Raises as the SDK does, where not even the versions are listed.
    """
    with ThreadPoolExecutor(READERS) as pool:
        found = pool.map(lambda store_id: _texts_of(sdk, store_id), store_ids)
        return {id: sha for some in found for id, sha in some.items()}


def _texts_of(sdk: Anthropic, store_id: str) -> dict[str, str | None]:
    versions = sdk.beta.memory_stores.memory_versions
    try:
        return {one.id: _hash(one.content) for one in versions.list(store_id, limit=20, view="full")}
    except anthropic.APIStatusError:
        listed = [one.id for one in versions.list(store_id, limit=100)]
    found: dict[str, str | None] = {}
    for id in listed:
        with contextlib.suppress(anthropic.APIStatusError):
            found[id] = _hash(versions.retrieve(id, memory_store_id=store_id, view="full").content)
    return found


def _hash(content: str | None) -> str | None:
    return None if content is None else hashlib.sha256(content.encode()).hexdigest()


@dataclass(slots=True)
class Lag:
    """Asks every region all along how far behind it is, and keeps the most that it said."""

    urls: Mapping[str, str]
    api_key: str
    longest_ms: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to ask."""
        self._thread = threading.Thread(target=self._run, daemon=True, name="lag")
        self._thread.start()

    def end(self) -> None:
        """Stop asking."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def now_ms(self, region: str) -> int | None:
        """Return the lag that a region reports; None where it does not know, or does not answer."""
        request = urllib.request.Request(  # noqa: S310  an address of our own
            f"{self.urls[region]}/v1/memory_stores?limit=1", headers={"x-api-key": self.api_key}
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - our own address
                lag = answer.headers.get("x-memolith-lag-ms")
        except (OSError, json.JSONDecodeError):
            return None
        return None if lag is None else int(lag)

    def _run(self) -> None:
        while not self._ended.wait(ASK_EVERY_S):
            for region in self.urls:
                lag_ms = self.now_ms(region)
                if lag_ms is None:
                    self.unknown[region] = self.unknown.get(region, 0) + 1
                else:
                    self.longest_ms[region] = max(self.longest_ms.get(region, 0), lag_ms)


def wait_until_settled(
    acknowledged: Sequence[Acknowledged],
    regions: Mapping[str, Anthropic],
    divergent: Callable[[], Mapping[str, frozenset[str]]],
    within_s: float,
) -> Account:
    """Look again and again until nothing is missing and the regions agree; return the last account.

    Once every version is listed everywhere, every text is read everywhere.
    """
    store_ids = sorted({one.store_id for one in acknowledged})
    deadline = time.monotonic() + within_s
    looks: tuple[Look, ...] = (history, texts)
    while True:
        for look in looks:
            histories = {region: _seen(partial(look, sdk, store_ids)) for region, sdk in regions.items()}
            found = account(acknowledged, histories, divergent())
            if not found.settled:
                break
        if found.settled or time.monotonic() > deadline:
            return found
        time.sleep(LOOK_EVERY_S)


def _seen(look: Callable[[], dict[str, str | None]]) -> dict[str, str | None]:
    """Look at a region; return nothing where it does not answer."""
    try:
        return look()
    except (anthropic.APIStatusError, anthropic.APIConnectionError):
        return {}
